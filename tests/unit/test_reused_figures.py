"""Figures: percentiles from bins, what a measurement counts, and what several people ask for at once."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from cli.assess.conversation_figures import all_decided, figure_rows, kind_rows
from cli.assess.conversation_fleet import MeasuredPolicy
from cli.assess.conversation_runs import MeasuredRun, RunResult
from db.figures.histograms import (
    ERROR,
    PER_DOUBLING,
    TOP,
    middle_ms,
    percentile_ms,
)
from db.history.conversation_sets import QuestionEnding
from review.figures.reused import ReusedFigures
from sandbox.cases import Case, Writes

NOW = datetime(2026, 3, 2, tzinfo=UTC)


class Count:
    """A count that takes until it is released."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.runs = 0
        self.released = asyncio.Event()
        self.problem = problem

    async def run(self) -> int:
        """The number of runs."""
        self.runs += 1
        await self.released.wait()
        if self.problem is not None:
            raise self.problem
        return self.runs


async def asked(figures: ReusedFigures, count: Count, people: int) -> list[asyncio.Task[object]]:
    """Requests that wait for the count."""
    tasks = [asyncio.create_task(_value(figures, count)) for _ in range(people)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def _value(figures: ReusedFigures, count: Count) -> object:
    return (await figures.get("week", NOW, count.run)).value


async def test_people_who_ask_at_once_share_one_count() -> None:
    """Ten people who open the dashboard run one query; one who leaves does not end it for the others."""
    figures, count = ReusedFigures(), Count()
    tasks = await asked(figures, count, 10)
    tasks[0].cancel()
    count.released.set()
    found = await asyncio.gather(*tasks[1:])

    assert found == [1] * 9
    assert count.runs == 1


async def test_a_failed_count_fails_for_all_that_wait_and_is_repeated() -> None:
    """The failure is not kept."""
    figures, count = ReusedFigures(), Count(KeyError("a bug"))
    tasks = await asked(figures, count, 2)
    count.released.set()
    failed = await asyncio.gather(*tasks, return_exceptions=True)
    count.problem = None

    assert [type(each) for each in failed] == [KeyError, KeyError]
    assert await _value(figures, count) == 2


async def test_after_a_change_nothing_counted_before_is_shown() -> None:
    """A request after the change counts anew, also while the earlier count is under way."""
    figures, count = ReusedFigures(), Count()
    (before,) = await asked(figures, count, 1)
    figures.forget()
    (after,) = await asked(figures, count, 1)
    count.released.set()
    await asyncio.gather(before, after)

    assert count.runs == 2


async def test_quick_figures_are_counted_for_each_request() -> None:
    """Only figures that took long are kept."""
    figures, count = ReusedFigures(), Count()
    count.released.set()

    assert [await _value(figures, count), await _value(figures, count)] == [1, 2]


POLICY = MeasuredPolicy(label="default", setting=None)


def case(name: str, *, kind: str = "question", doc: str | None = "shop/hours") -> Case:
    return Case(
        case_id=name,
        domain="shop",
        kind=kind,
        query=name,
        answer="We open at nine.",
        doc=doc,
        wrong_answer="Parking is free.",
        invented="We open at five.",
    )


CASES = (case("a"), case("b", kind="yes_no"), case("c", kind="not_in_documents", doc=None))


def ending(name: str, reply: str | None, *, waits: bool = False, degraded: bool = False) -> QuestionEnding:
    code = "REPLIED" if reply else "HELD"
    return QuestionEnding(event_id=name, reason_code=code, reply=reply, waits=waits, degraded=degraded)


def result(writes: Writes, endings: Sequence[QuestionEnding], *, judge: str = "perfect") -> RunResult:
    return RunResult(
        run=MeasuredRun(name="run", policy=POLICY, judge=judge, writes=writes),
        cases=CASES,
        endings=list(zip(CASES, endings, strict=False)),
        calls={"judge": 3, "chat": 6},
    )


def test_a_share_counts_only_replies_of_its_kind_to_questions_with_an_answer() -> None:
    """A partly sent invented draft that is left with right sentences is not invented."""
    right = [ending("a", "We open at nine."), ending("b", None, waits=True), ending("c", None, waits=True)]
    invented = [ending("a", "We open at five."), ending("b", "We open at nine."), ending("c", None)]
    wrong = [ending("a", None), ending("b", None), ending("c", "Parking is free.")]
    (row,) = figure_rows(
        [
            result(Writes.RIGHT, right),
            result(Writes.WRONG, wrong),
            result(Writes.INVENTED, invented),
        ]
    )

    assert (row["right_sent"], row["wrong_sent"], row["invented_sent"]) == (0.5, 0.0, 0.5)
    assert row["bad_sent_at_most"] == 0.4  # one of four bad drafts: (1 + 1) / (4 + 1)
    assert (row["held"], row["not_in_documents_answered"]) == (0.5, 0.3333)
    assert (row["judge_calls"], row["completions"]) == (1.0, 2.0)
    assert [(each["kind"], each["right_sent"]) for each in kind_rows([row])] == [
        ("question", 1.0),
        ("yes_no", 0.0),
    ]


def test_decisions_without_a_service_are_counted() -> None:
    """A search whose embedding server did not answer measures words, whatever the option said."""
    endings = [ending(each.case_id, None, degraded=each is not CASES[0]) for each in CASES]
    (row,) = figure_rows([result(Writes.RIGHT, endings)])

    assert row["runs"][Writes.RIGHT]["degraded"] == 2


def test_a_question_without_decision_is_noticed() -> None:
    """The command then ends with exit code 1."""
    endings = [ending(each.case_id, None) for each in CASES]

    assert all_decided([result(Writes.RIGHT, endings)])
    assert not all_decided([result(Writes.RIGHT, endings[:2])])


def bin_of(ms: float) -> int:
    """The bin that a time belongs to, as the module says; Postgres does the binning, see ``test_figures``."""
    return 0 if ms <= 1 else min(TOP, math.ceil(PER_DOUBLING * math.log2(ms)))


TIMES = st.floats(min_value=1, max_value=2 ** (TOP / 8), allow_nan=False)


@given(times=st.lists(TIMES, min_size=1, max_size=200), share=st.sampled_from((0.01, 0.5, 0.95, 0.99, 1.0)))
def test_a_percentile_is_within_the_stated_error(times: list[float], share: float) -> None:
    """Of the nearest-rank percentile of the very values, between 1 ms and 12 days."""
    exact = sorted(times)[max(1, math.ceil(share * len(times))) - 1]
    found = percentile_ms(Counter(map(bin_of, times)), share)

    assert found is not None
    assert abs(found - exact) <= exact * (ERROR + 1e-9)


def test_nothing_counted_has_no_percentile() -> None:
    """The percentile is None, not 0."""
    assert percentile_ms({}, 0.5) is None
    assert percentile_ms({0: 3}, 0.99) == middle_ms(0) == 1.0
