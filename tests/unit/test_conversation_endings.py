"""Who may answer, and which reply came too late: every case as a line of a table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.decided import reply_to
from tests.support.samples import NOW, account, event
from worker import conversation_endings
from worker.model import (
    AI_ONLY,
    ConversationState,
    DecisionKind,
    EventType,
    NewerEvent,
    Owner,
    StaleReply,
)
from worker.reasons import Reason

PEOPLE = ConversationState(owner=Owner.PEOPLE, changes=1)
WINDOW_S = 1.5


def newer(kind: EventType = EventType.MESSAGE, *, after_s: float = 1.0, **changes: Any) -> NewerEvent:
    """An event that came after the sample event, by its author."""
    values: dict[str, Any] = {"event_id": "e2", "message_id": "m2", "author_id": "a1"}
    at = NOW + timedelta(seconds=after_s)
    return NewerEvent(type=kind, received_at=at, written_at=at, **values | changes)


AGENT = newer(EventType.AGENT_MESSAGE, event_id="e3", message_id="m3", author_id="ann")
DELETES_IT = newer(EventType.MESSAGE_DELETED, event_id="e4", message_id="m1")
DELETES_NEXT = newer(EventType.MESSAGE_DELETED, event_id="e5", message_id="m2")
EDIT = newer(EventType.MESSAGE_EDITED, event_id="e6", message_id="m1")


def code(ending: Any) -> Reason | None:
    """The reason of an ending, if there is one."""
    return None if ending is None else ending.reason_code


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (EventType.MESSAGE, None),
        (EventType.MESSAGE_EDITED, None),
        (EventType.AGENT_MESSAGE, Reason.AGENT_MESSAGE),
        (EventType.MESSAGE_DELETED, Reason.MESSAGE_DELETED),
    ],
)
def test_only_what_an_author_wrote_is_tested_by_guards(kind: EventType, expected: Reason | None) -> None:
    """A deletion holds no text, and the team's own words are not judged."""
    assert code(conversation_endings.ending_of_type(event(type=kind))) == expected


@pytest.mark.parametrize(
    ("kind", "state", "expected"),
    [
        (EventType.MESSAGE, AI_ONLY, None),
        (EventType.MESSAGE, ConversationState(owner=Owner.AI, changes=4), None),
        (EventType.MESSAGE, PEOPLE, Reason.OWNED_BY_PEOPLE),
        (EventType.MESSAGE_EDITED, AI_ONLY, None),
        (EventType.MESSAGE_EDITED, PEOPLE, Reason.MESSAGE_EDITED),
    ],
)
def test_while_people_own_the_conversation_no_model_is_called(
    kind: EventType, state: ConversationState, expected: Reason | None
) -> None:
    """An edit keeps its own reason, by which the history follows it."""
    assert code(conversation_endings.owned_ending(event(type=kind), state)) == expected


@pytest.mark.parametrize(
    ("waiting", "discarded", "sent"),
    [
        ((), None, None),
        ((newer(),), Reason.SUPERSEDED, None),
        ((newer(author_id="another"),), None, None),
        ((newer(), DELETES_NEXT), None, None),
        ((EDIT,), None, None),
        ((DELETES_NEXT,), None, None),
        ((AGENT,), Reason.TAKEN_OVER, Reason.TAKEN_OVER),
        ((newer(), AGENT), Reason.TAKEN_OVER, Reason.TAKEN_OVER),
        ((DELETES_IT,), Reason.MESSAGE_WITHDRAWN, Reason.MESSAGE_WITHDRAWN),
        ((newer(), DELETES_IT), Reason.MESSAGE_WITHDRAWN, Reason.MESSAGE_WITHDRAWN),
        ((DELETES_IT, AGENT), Reason.TAKEN_OVER, Reason.TAKEN_OVER),
    ],
)
def test_what_came_while_a_reply_was_made(
    waiting: tuple[NewerEvent, ...], discarded: Reason | None, sent: Reason | None
) -> None:
    """People and deletions always discard it, a further message only where the account wants that."""
    found = [
        code(
            conversation_endings.overtaken_ending(
                event(), waiting, account(stale_reply=policy, burst_window_s=0.0)
            )
        )
        for policy in (StaleReply.DISCARD, StaleReply.SEND)
    ]

    assert found == [discarded, sent]


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        ((), None),
        ((newer(),), Reason.BURST_MERGED),
        ((newer(after_s=WINDOW_S),), Reason.BURST_MERGED),
        ((newer(after_s=WINDOW_S + 0.001),), None),
        ((newer(author_id="another"),), None),
        ((newer(author_id="another"), newer()), Reason.BURST_MERGED),
        ((newer(after_s=2.0), newer(after_s=0.5, event_id="e7")), None),
        ((newer(), DELETES_NEXT), None),
        ((newer(), DELETES_NEXT, newer(message_id="m7")), Reason.BURST_MERGED),
        ((EDIT,), None),
        ((newer(), AGENT), Reason.TAKEN_OVER),
        ((newer(), DELETES_IT), Reason.MESSAGE_WITHDRAWN),
    ],
)
def test_a_message_is_merged_into_its_authors_next_one(
    waiting: tuple[NewerEvent, ...], expected: Reason | None
) -> None:
    """The next one that will be answered, when it came within the window."""
    ending = conversation_endings.merged_ending(event(), waiting, account(burst_window_s=WINDOW_S))

    assert code(ending) == expected
    if expected is Reason.BURST_MERGED:
        assert ending is not None
        assert ending.answered_event == "e2"


@pytest.mark.parametrize("policy", list(StaleReply))
@pytest.mark.parametrize(
    ("kind", "after_s", "merged"),
    [
        (EventType.MESSAGE, WINDOW_S, True),
        (EventType.MESSAGE, WINDOW_S + 0.001, False),
        (EventType.MESSAGE_EDITED, WINDOW_S, False),
    ],
)
def test_a_reply_made_within_the_window_is_discarded_for_the_next_message(
    kind: EventType, after_s: float, *, merged: bool, policy: StaleReply
) -> None:
    """A finished question starts its reply early, and is still answered together with the next message."""
    author = account(burst_window_s=WINDOW_S, stale_reply=policy)
    ending = conversation_endings.overtaken_ending(event(type=kind), (newer(after_s=after_s),), author)

    assert (code(ending) is Reason.BURST_MERGED) is merged


@pytest.mark.parametrize(
    ("text", "waits_s"),
    [
        ("When are you open?", 0.5),
        ("When are you open? Thanks! \U0001f60a", 0.5),
        ("Mấy giờ mở cửa vậy shop?", 0.5),
        ("何時に開きますか？", 0.5),
        ("Do you open on Sunday? :)", 0.5),
        ("Hello?", 1.5),
        ("Quick question?", 1.5),
        ("When are you open", 1.5),
        ("Do you open on Sunday? Asking for my", 1.5),
        ("?", 1.5),
        ("", 1.5),
    ],
)
def test_a_finished_question_waits_for_a_third_of_the_window(text: str, waits_s: float) -> None:
    """A greeting, a prelude and a sentence without an end are followed by more."""
    waited = conversation_endings.burst_wait_s(event(text=text), account(burst_window_s=WINDOW_S), NOW)

    assert waited == waits_s


@pytest.mark.parametrize(
    ("window_s", "age_s", "expected"),
    [
        (1.5, 0.0, 1.5),
        (1.5, 0.5, 1.0),
        (1.5, 1.5, 0.0),
        (1.5, 3600.0, 0.0),
        (0.0, 0.0, 0.0),
        (1.5, -9.0, 1.5),
    ],
)
def test_a_message_waits_for_what_is_left_of_the_window(
    window_s: float, age_s: float, expected: float
) -> None:
    """Never longer than the window, even when the clock of Redis is ahead."""
    left = conversation_endings.burst_wait_s(
        event(text="hello"), account(burst_window_s=window_s), NOW + timedelta(seconds=age_s)
    )

    assert left == expected


@pytest.mark.parametrize(
    ("kind", "decided", "idle_s", "expected"),
    [
        (EventType.MESSAGE, DecisionKind.RESPOND, 60.0, None),
        (EventType.MESSAGE, DecisionKind.IGNORE, 60.0, None),
        (EventType.MESSAGE, DecisionKind.ESCALATE, 60.0, NOW + timedelta(seconds=60)),
        (EventType.AGENT_MESSAGE, DecisionKind.IGNORE, 60.0, NOW + timedelta(seconds=60)),
        (EventType.AGENT_MESSAGE, DecisionKind.IGNORE, 0.0, NOW + conversation_endings.FOR_EVER),
        (EventType.MESSAGE_DELETED, DecisionKind.IGNORE, 60.0, None),
    ],
)
def test_escalations_and_messages_of_people_hand_the_conversation_over(
    kind: EventType, decided: DecisionKind, idle_s: float, expected: object
) -> None:
    """Until the idle time is over; 0 means until a release."""
    owner = account(people_idle_s=idle_s)

    assert conversation_endings.people_until(event(type=kind), owner, decided, NOW) == expected


@pytest.mark.parametrize(
    ("kind", "decided", "begins"),
    [
        (EventType.MESSAGE, DecisionKind.ESCALATE, datetime(2026, 11, 23, 9, tzinfo=UTC)),
        (EventType.AGENT_MESSAGE, DecisionKind.IGNORE, NOW),
    ],
)
def test_the_idle_time_of_an_escalation_begins_in_business_hours(
    kind: EventType, decided: DecisionKind, begins: datetime
) -> None:
    """The sample's now is a Saturday; a person who writes is there."""
    owner = account(people_idle_s=60.0, business_hours={"mon": "09:00-17:00"})

    assert conversation_endings.people_until(event(type=kind), owner, decided, NOW) == begins + timedelta(
        seconds=60
    )


def test_a_decision_whose_reply_came_too_late_keeps_everything_else() -> None:
    """Its cost and its history line stay; reply, draft and sources go."""
    before = reply_to(event(), NOW, draft="From nine to six [1].", changes=2)
    after = conversation_endings.without_reply(before)

    assert (after.kind, after.reason_code) == (DecisionKind.IGNORE, Reason.TAKEN_OVER)
    assert (after.reply, after.draft, after.sources) == (None, None, ())
    assert (after.decision_id, after.remember, after.changes) == (before.decision_id, True, 2)
