"""Searches of the audit: every filter, pages in both directions, counts, time limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import pytest

from db.audit import decision_list, search
from db.audit.cursor import OLDEST, CursorRejected, Direction, Position
from db.audit.decision_list import DecisionCount, DecisionPage
from db.audit.filters import Filters, ReviewFilter
from db.audit.search import Patience
from db.connection import Connection
from db.figures.figure_sql import RunEvent
from tests.support.auditing import ago, assessed, decided, queued, reviewed, staged, store
from tests.support.reviewing import add_person
from worker.model import (
    Decision,
    DecisionKind,
    Scope,
    Stage,
    StageOutcome,
    Tier,
)
from worker.reasons import Reason

Value = TypeVar("Value")
ROWS = 23


def asked(url: str, call: Callable[[Connection], Awaitable[Value]]) -> Value:
    """The result of a call with a read connection."""

    async def run() -> Value:
        async with decision_list.read_connection(url) as connection:
            return await call(connection)

    return asyncio.run(run())


def page(url: str, filters: Filters, **options: Any) -> DecisionPage:
    """One page."""
    return asked(
        url, lambda connection: decision_list.load_page(connection, filters, **({"limit": 100} | options))
    )


def found(url: str, filters: Filters, **options: Any) -> list[str]:
    """Event ids on one page."""
    return [row["event_id"] for row in page(url, filters, **options).rows]


@pytest.fixture(scope="module")
def odd(database_url: str) -> Decision:
    """The only decision that every filter below matches, among others that differ in every field."""
    one = decided(
        at=ago(hours=1),
        user_id="odd",
        conversation_id="odd-conversation",
        author_id="odd-author",
        scope=Scope.COMMENT,
        message_id="odd-message",
        text="100% Refund_now \\ please",
        kind=DecisionKind.ESCALATE,
        reason_code=Reason.MODEL_ESCALATED,
        matched_rule="flagged_keyword:odd%",
        confidence=0.25,
        degraded=True,
        rules_version=7,
        candidate_id=UUID(int=7),
        rechecked=(0.4, 0.6),
        assessment=assessed(Tier.MEDIUM),
        stages=staged(Stage.RETRIEVAL, StageOutcome.FAILED),
    )
    others = [
        decided(
            at=ago(hours=3 + number),
            assessment=assessed(Tier.HIGH),
            stages=staged(Stage.MODERATION, StageOutcome.FLAGGED),
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
    {"candidate_id": UUID(int=7)},
    {"scope": "comment"},
    {"conversation_id": "odd-conversation"},
    {"author_id": "odd-author"},
    {"message_id": "odd-message"},
    {"degraded": True},
    {"least_confidence": 0.2, "most_confidence": 0.3},
    {"tier": Tier.MEDIUM},
    {"ran": RunEvent.IMPROVED},
    {"ran": RunEvent.RECHECKED, "review": ReviewFilter.DISPUTED},
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


def filter_id(wanted: dict[str, Any]) -> str:
    """The filter without moments, so that every process collects the same test ids."""
    return str({name: "a moment" if isinstance(value, datetime) else value for name, value in wanted.items()})


@pytest.mark.parametrize("wanted", ODD, ids=filter_id)
def test_each_filter_finds_the_matching_decision(
    database_url: str, odd: Decision, wanted: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page and count have this decision and no other."""
    monkeypatch.setattr(decision_list, "COUNT_S", 30.0)  # a busy machine counts slowly, and would estimate
    filters = Filters(**wanted)

    assert found(database_url, filters) == [odd.event.event_id]
    assert asked(database_url, lambda each: decision_list.count_decisions(each, filters)) == DecisionCount(
        number=1, exact=True
    )


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
    {"ran": RunEvent.RETRIED},
    {"stage_outcome": "retrieval:flagged"},
    {"stage_outcome": "retrieval:passed"},
    {"review": ReviewFilter.OPEN},
    {"review": ReviewFilter.AGREE},
    {"review": ReviewFilter.DISPUTED, "accounts": ("acme",)},
    {"assignee": "nobody"},
    {"text": "refund%now"},
    {"text": "Refund-now"},
)


@pytest.mark.parametrize("wanted", NOT_ODD, ids=filter_id)
def test_each_filter_excludes_other_decisions(
    database_url: str, odd: Decision, wanted: dict[str, Any]
) -> None:
    """Wildcards of LIKE in a searched text are plain text."""
    assert odd.event.event_id not in found(database_url, Filters(**wanted))


def test_an_open_review_state_is_open(database_url: str, odd: Decision) -> None:
    """After a review is withdrawn, the decision counts as open."""
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
def test_pages_have_every_row_once_in_both_directions(
    database_url: str, many: list[str], filters: Filters
) -> None:
    """The pages from oldest to newest are those from newest to oldest."""
    down, up = [page(database_url, filters, limit=6)], []
    while down[-1].older:
        down.append(page(database_url, filters, limit=6, cursor=down[-1].older))
    up.append(down[-1])
    while up[-1].newer:
        up.append(page(database_url, filters, limit=6, cursor=up[-1].newer))

    assert [row["event_id"] for each in down for row in each.rows] == many
    assert [each.rows for each in up] == [each.rows for each in reversed(down)]
    assert down[0].newer is None


def test_the_oldest_page_has_a_cursor(database_url: str, many: list[str]) -> None:
    """The last page has only newer pages; the time limit applies to it too."""
    last = page(database_url, MANY[0], limit=6, cursor=OLDEST)

    assert [row["event_id"] for row in last.rows] == many[-6:]
    assert (last.older, last.newer is not None) == (None, True)

    bounded = Filters(author_id="many", since=last.rows[0]["created_at"] + timedelta(microseconds=1))
    assert set(found(database_url, bounded, limit=3, cursor=OLDEST)).isdisjoint(many[-6:])


def test_new_rows_do_not_change_later_pages(database_url: str) -> None:
    """No row is shown twice or lost: a page begins next to a row, not at an offset."""
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
    """A change at any place is detected."""
    cursor = page(database_url, MANY[0], limit=6).older
    assert cursor is not None
    other = "B" if cursor[place] == "A" else "A"
    with pytest.raises(CursorRejected, match="expected one from an earlier page"):
        page(database_url, MANY[0], limit=6, cursor=cursor[:place] + other + cursor[place + 1 :])


def test_a_search_that_takes_too_long_returns_its_position_and_continues(
    database_url: str, many: list[str]
) -> None:
    """The parts together have every row, in both directions."""
    filters = Filters(event_id=many[-1])
    for begin, way in ((None, "older"), (OLDEST, "newer")):
        cursor, rows, stages, slices_s = begin, [], 0, 0.0
        while True:
            stages += 1
            impatient = Patience(at_once_s=0.0, slices_s=slices_s)
            step = page(database_url, filters, cursor=cursor, patience=impatient)
            # the first is given up before a slice, and a busy machine gets through one in the end
            slices_s = max(1e-6, slices_s * 1.5)
            rows += [row["event_id"] for row in step.rows]
            cursor = getattr(step, way)
            assert stages <= 2000, "the search does not end"
            if cursor is None:
                break
        assert stages > 1, "the search was never given up, so nothing went on"
        assert set(rows) == {many[-1]}  # the top page, where the way up ends, is filled from the top


def test_a_search_whose_first_slices_are_too_slow_continues_with_narrower_ones(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every attempt would repeat the same slice, and end where it began."""
    real_query, real_rows, widths = search._query, search._rows, list[timedelta]()

    def query(filters: Filters, *rest: Any) -> Any:
        assert filters.since
        assert filters.until
        widths.append(filters.until - filters.since)
        return real_query(filters, *rest)

    async def rows(connection: Any, statement: Any, seconds: float) -> Any:
        if widths[-1] > timedelta(minutes=10):
            await asyncio.sleep(seconds)
            raise search.TooSlow
        return await real_rows(connection, statement, seconds)

    monkeypatch.setattr(search, "_query", query)
    monkeypatch.setattr(search, "_rows", rows)
    wanted = decided(at=ago(days=4))
    store(database_url, [wanted, decided()])
    filters = Filters(event_id=wanted.event.event_id)
    patience = Patience(at_once_s=0.0, slices_s=4.0)
    position = Position(direction=Direction.NEWER, at=ago(days=4, minutes=2))
    found = asked(
        database_url,
        lambda connection: search.find_decisions(connection, filters, position, limit=1, patience=patience),
    )

    assert widths[0] == search.FIRST_SLICE
    assert [row["event_id"] for row in found.rows] == [wanted.event.event_id]


def test_a_search_in_slices_finds_the_same_as_one_at_once(database_url: str, many: list[str]) -> None:
    """The time limit allows only the slices."""
    sliced = Patience(at_once_s=0.0, slices_s=30.0)

    for cursor in (None, page(database_url, MANY[0], limit=6).older, OLDEST):
        assert page(database_url, MANY[0], limit=6, cursor=cursor, patience=sliced) == page(
            database_url, MANY[0], limit=6, cursor=cursor
        )


def test_a_version_finds_decisions_made_after_the_next_version_was_stored(database_url: str) -> None:
    """A decision is found under the version that it used."""
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


@pytest.mark.parametrize("wanted", [each for each in ODD if {"tier", "stage_outcome"} & set(each)], ids=str)
def test_frequent_labels_are_found_by_a_scan(
    database_url: str, odd: Decision, wanted: dict[str, Any]
) -> None:
    """The scan has the same result as the index."""
    assert found(database_url, Filters(**wanted, walk=True)) == [odd.event.event_id]
