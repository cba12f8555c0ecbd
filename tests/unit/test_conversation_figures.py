"""The figures of a measurement count what was sent, whoever wrote it."""

from __future__ import annotations

from collections.abc import Sequence

from cli.assess.conversation_figures import all_decided, figure_rows, kind_rows
from cli.assess.conversation_fleet import MeasuredPolicy
from cli.assess.conversation_runs import MeasuredRun, RunResult
from db.history.conversation_sets import QuestionEnding
from sandbox.cases import Case, Writes

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
