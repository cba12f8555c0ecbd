"""Finding decisions: every filter, pages in both directions, counts, searches that take too long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from db import audit
from db.audit import OLDEST, Count, CursorRejected, Filters, Page, Patience, Ran, ReviewFilter, Tier
from tests.auditing import ago, assessed, decided, queued, reviewed, staged, store
from tests.reviewing import add_person
from worker.model import Decision, Scope, StageOutcome, Verdict
from worker.policy import Reason

Value = TypeVar("Value")
ROWS = 23


def asked(url: str, call: Callable[[AsyncConnection], Awaitable[Value]]) -> Value:
    """What a question to the audit gives."""

    async def run() -> Value:
        async with audit.reading(url) as connection:
            return await call(connection)

    return asyncio.run(run())


def page(url: str, filters: Filters, **options: Any) -> Page:
    """One page."""
    return asked(url, lambda connection: audit.page(connection, filters, **({"limit": 100} | options)))


def found(url: str, filters: Filters, **options: Any) -> list[str]:
    """Event ids on one page."""
    return [row["event_id"] for row in page(url, filters, **options).rows]


@pytest.fixture(scope="module")
def odd(database_url: str) -> Decision:
    """The one decision that every filter below is about, among others that differ in everything."""
    one = decided(
        at=ago(hours=1),
        user_id="odd",
        conversation_id="odd-conversation",
        author_id="odd-author",
        scope=Scope.COMMENT,
        message_id="odd-message",
        text="100% Refund_now \\ please",
        verdict=Verdict.ESCALATE,
        reason_code=Reason.MODEL_ESCALATED,
        matched_rule="flagged_keyword:odd%",
        confidence=0.25,
        degraded=True,
        rules_version=7,
        rechecked=(0.4, 0.6),
        assessment=assessed("medium"),
        stages=staged("retrieval", StageOutcome.FAILED),
    )
    others = [
        decided(
            at=ago(hours=3 + number),
            assessment=assessed("high"),
            stages=staged("moderation", StageOutcome.FLAGGED),
            matched_rule="flagged_keyword:other",
        )
        for number in range(4)
    ]
    store(database_url, [*others, one])
    reviewed(database_url, one, "disputed")
    reviewed(database_url, others[0], "open")
    person = add_person(database_url, login="odd-person")
    queued(database_url, one, assigned_to=person.person_id)
    queued(database_url, others[1], assigned_to=person.person_id, done_at=ago(hours=1))
    queued(database_url, others[2], claimed_by=person.person_id, claimed_until=ago(minutes=1))
    return one


ODD = (
    {"since": ago(hours=2)},
    {"user_id": "odd"},
    {"accounts": ("odd",)},
    {"accounts": ("nobody", "odd")},
    {"decision": "escalate"},
    {"reason_codes": ("MODEL_ESCALATED",)},
    {"reason_codes": ("TOOL_LOOP", "MODEL_ESCALATED")},
    {"matched_rule": "flagged_keyword:odd%"},
    {"matched_rule": "flagged_keyword:odd*"},
    {"matched_rule": "flagged_keyword:odd%*"},
    {"rules_version": 7, "user_id": "odd"},
    {"rules_version": 7},
    {"scope": "comment"},
    {"conversation_id": "odd-conversation"},
    {"author_id": "odd-author"},
    {"message_id": "odd-message"},
    {"degraded": True},
    {"least_confidence": 0.2, "most_confidence": 0.3},
    {"tier": Tier.MEDIUM},
    {"ran": Ran.IMPROVED},
    {"ran": Ran.RECHECKED, "review": ReviewFilter.DISPUTED},
    {"stage_outcome": "retrieval:failed"},
    {"stage_outcome": "*:failed"},
    {"stage_outcome": "scope:passed", "user_id": "odd"},
    {"review": ReviewFilter.REVIEWED},
    {"review": ReviewFilter.DISPUTED},
    {"review": ReviewFilter.DISPUTED, "user_id": "odd"},
    {"review": ReviewFilter.DISPUTED, "accounts": ("a", "odd"), "decision": "escalate"},
    {"assignee": "odd-person"},
    {"assignee": "Odd-Person"},
    {"text": "refund_NOW"},
    {"text": "100%"},
    {"text": "\\"},
)


@pytest.mark.parametrize("wanted", ODD, ids=str)
def test_each_filter_finds_what_it_is_about(database_url: str, odd: Decision, wanted: dict[str, Any]) -> None:
    """That one and no other; the count says the same."""
    filters = Filters(**wanted)

    assert found(database_url, filters) == [odd.event.event_id]
    assert asked(database_url, lambda each: audit.counted(each, filters)) == Count(number=1, exact=True)


NOT_ODD = (
    {"until": ago(hours=2)},
    {"accounts": ()},
    {"accounts": ("acme",)},
    {"user_id": "odd", "accounts": ("acme",)},
    {"decision": "ignore"},
    {"reason_codes": ("TOOL_LOOP", "AI_DISABLED")},
    {"reason_codes": ()},
    {"matched_rule": "flagged_keyword:o_d*"},
    {"rules_version": 1},
    {"degraded": False},
    {"least_confidence": 0.3},
    {"tier": Tier.HIGH},
    {"ran": Ran.RETRIED},
    {"stage_outcome": "retrieval:flagged"},
    {"stage_outcome": "retrieval:passed"},
    {"review": ReviewFilter.OPEN},
    {"review": ReviewFilter.AGREE},
    {"review": ReviewFilter.DISPUTED, "accounts": ("acme",)},
    {"assignee": "nobody"},
    {"text": "refund%now"},
    {"text": "Refund-now"},
)


@pytest.mark.parametrize("wanted", NOT_ODD, ids=str)
def test_each_filter_leaves_out_what_it_is_not_about(
    database_url: str, odd: Decision, wanted: dict[str, Any]
) -> None:
    """Wildcards of the database in somebody's text are text."""
    assert odd.event.event_id not in found(database_url, Filters(**wanted))


def test_an_open_review_state_is_open(database_url: str, odd: Decision) -> None:
    """A withdrawn review leaves a row behind; the decision waits for a reader again."""
    states = [
        len(found(database_url, Filters(review=each))) for each in (ReviewFilter.OPEN, ReviewFilter.REVIEWED)
    ]

    assert states == [4, 1]


@pytest.fixture(scope="module")
def many(database_url: str) -> list[str]:
    """Event ids of three accounts, newest first; five share each moment."""
    made = [
        decided(at=ago(days=3, seconds=number // 5), user_id=f"many-{number % 3}", author_id="many")
        for number in range(ROWS)
    ]
    moments = sorted({each.decided_at.replace(microsecond=0) for each in made}, reverse=True)
    made = [
        decided(at=moments[0] - timedelta(seconds=n // 5), user_id=f"many-{n % 3}", author_id="many")
        for n in range(ROWS)
    ]
    store(database_url, made)
    ordered = sorted(made, key=lambda each: (each.decided_at, each.decision_id), reverse=True)
    return [each.event.event_id for each in ordered]


MANY = (
    Filters(author_id="many"),
    Filters(accounts=("many-0", "many-1", "many-2")),
    Filters(accounts=tuple(f"many-{number}" for number in range(200))),
)


@pytest.mark.parametrize("filters", MANY, ids=["one index", "merged accounts", "many accounts"])
def test_pages_give_every_row_once_down_and_up_again(
    database_url: str, many: list[str], filters: Filters
) -> None:
    """And the way up shows the same pages as the way down."""
    down, up = [page(database_url, filters, limit=6)], []
    while down[-1].older:
        down.append(page(database_url, filters, limit=6, cursor=down[-1].older))
    up.append(down[-1])
    while up[-1].newer:
        up.append(page(database_url, filters, limit=6, cursor=up[-1].newer))

    assert [row["event_id"] for each in down for row in each.rows] == many
    assert [each.rows for each in up] == [each.rows for each in reversed(down)]
    assert down[0].newer is None


def test_the_oldest_page_is_one_step_away(database_url: str, many: list[str]) -> None:
    """From there the way goes up only; a time limit holds there too."""
    last = page(database_url, MANY[0], limit=6, cursor=OLDEST)

    assert [row["event_id"] for row in last.rows] == many[-6:]
    assert (last.older, last.newer is not None) == (None, True)

    bounded = Filters(author_id="many", since=last.rows[0]["created_at"] + timedelta(microseconds=1))
    assert set(found(database_url, bounded, limit=3, cursor=OLDEST)).isdisjoint(many[-6:])


def test_rows_that_arrive_while_somebody_pages_change_no_page(database_url: str) -> None:
    """Neither twice nor lost: a page begins beside a row, not at a number."""
    filters = Filters(author_id="arriving")
    store(database_url, [decided(at=ago(minutes=number), author_id="arriving") for number in range(10)])
    first = page(database_url, filters, limit=4)
    before = found(database_url, filters)
    store(database_url, [decided(author_id="arriving") for _ in range(7)])
    second = page(database_url, filters, limit=4, cursor=first.older)
    back = page(database_url, filters, limit=4, cursor=second.newer)

    assert [row["event_id"] for row in (*first.rows, *second.rows)] == before[:8]
    assert [row["event_id"] for row in back.rows] == before[:4]

    top = page(database_url, filters, limit=4, cursor=back.newer)
    assert top.newer is not None
    assert len(page(database_url, filters, limit=4, cursor=top.newer).rows) == 4


@pytest.mark.parametrize("place", [0, 1, 9, 20, 39])
def test_a_changed_cursor_is_refused(database_url: str, many: list[str], place: int) -> None:
    """Wherever it was changed."""
    cursor = page(database_url, MANY[0], limit=6).older
    assert cursor is not None
    other = "B" if cursor[place] == "A" else "A"
    with pytest.raises(CursorRejected, match="expected one from an earlier page"):
        page(database_url, MANY[0], limit=6, cursor=cursor[:place] + other + cursor[place + 1 :])


def test_a_search_that_takes_too_long_says_how_far_it_came_and_goes_on(
    database_url: str, many: list[str]
) -> None:
    """Nothing is lost between its stages, in either direction."""
    impatient = Patience(at_once_s=0.0005, slices_s=0.02)
    filters = Filters(event_id=many[-1])
    for begin, way in ((None, "older"), (OLDEST, "newer")):
        cursor, rows, stages = begin, [], 0
        while True:
            stages += 1
            step = page(database_url, filters, cursor=cursor, patience=impatient)
            rows += [row["event_id"] for row in step.rows]
            cursor = getattr(step, way)
            if cursor is None or stages > 2000:
                break
        assert set(rows) == {many[-1]}  # the top page, where the way up ends, is filled from the top


def test_a_search_in_slices_finds_the_same_as_one_at_once(database_url: str, many: list[str]) -> None:
    """With patience enough for the slices alone."""
    sliced = Patience(at_once_s=0.0, slices_s=30.0)

    for cursor in (None, page(database_url, MANY[0], limit=6).older, OLDEST):
        assert page(database_url, MANY[0], limit=6, cursor=cursor, patience=sliced) == page(
            database_url, MANY[0], limit=6, cursor=cursor
        )


def test_a_version_finds_what_it_decided_after_its_successor_was_stored(database_url: str) -> None:
    """A decision that held over a change of the settings is found under the version it used."""
    ages = {"began": 9.9, "late": 4.4, "next": 4.5}
    versions = {"began": 2, "late": 2, "next": 3}
    made = {
        name: decided(at=ago(days=age), user_id="versions", rules_version=versions[name])
        for name, age in ages.items()
    }
    store(database_url, list(made.values()))

    assert found(database_url, Filters(user_id="versions", rules_version=2)) == [
        made[name].event.event_id for name in ("late", "began")
    ]


def test_a_tail_shows_a_row_that_was_committed_late(database_url: str) -> None:
    """``after`` is asked again from a little before the newest row, so that a slow commit is not missed."""
    newest = decided(author_id="tail")
    late = decided(at=newest.decided_at - timedelta(seconds=2), author_id="tail")
    store(database_url, [newest])
    position = (newest.decided_at - timedelta(seconds=5), newest.decision_id)
    store(database_url, [late])
    rows = asked(database_url, lambda each: audit.after(each, Filters(author_id="tail"), seen=position))

    assert [row["event_id"] for row in rows] == [late.event.event_id, newest.event.event_id]
    assert datetime.now(UTC) > rows[0]["created_at"]


@pytest.mark.parametrize("wanted", [each for each in ODD if {"tier", "stage_outcome"} & set(each)], ids=str)
def test_marks_that_are_common_are_looked_for_in_each_decision(
    database_url: str, odd: Decision, wanted: dict[str, Any]
) -> None:
    """With the same result as their index gives."""
    assert found(database_url, Filters(**wanted, walk=True)) == [odd.event.event_id]
