"""One message is answered once, its changes count in the order of their times, and loops of machines end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.running import Running, eventually
from worker.reasons import Reason

HOURS = {
    "Opening hours": ["The shop is open from nine to six. On Saturday the shop is open from ten to four."]
}
QUESTION = "When is the shop open?"
SATURDAY = "Is the shop open on Saturday?"
UNASSESSED: dict[str, Any] = {"documents": HOURS, "assessment_policy": {"enabled": False}}
"""Every draft is sent."""
AWAY = "I am out of the office until Monday. What are your opening hours on Saturday?"


def lines(engine: Running, user_id: str) -> list[tuple[str, str]]:
    """Role and text of the stored history that prompts show."""
    shown = "user_id = %s AND sign IS DISTINCT FROM 'early_edit'"
    query = f"SELECT role, text FROM messages WHERE {shown} ORDER BY id"
    return [(row["role"], row["text"]) for row in engine.rows(query, user_id)]


def asked(engine: Running, user_id: str, text: str, **more: Any) -> dict[str, Any]:
    """The decision of an event of the one conversation of these tests."""
    return engine.decide(user_id, text, conversation_id="talk", **more)


def at(seconds: float) -> str:
    """A time so many seconds ago."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def test_one_message_under_two_event_ids_is_answered_once(engine: Running) -> None:
    """The second event is audited as a repetition, names the first, and costs no model call."""
    user_id = engine.account(documents=HOURS)
    first = asked(engine, user_id, QUESTION, message_id="m1")
    calls = engine.sandbox.calls("chat")
    second = asked(engine, user_id, QUESTION, message_id="m1")
    following = asked(engine, user_id, SATURDAY, message_id="m2")

    assert [row["reason_code"] for row in (first, second)] == [Reason.REPLIED, Reason.MESSAGE_REPEATED]
    assert first["event_id"] in second["reason"]
    assert following["reason_code"] == Reason.REPLIED
    assert [role for role, _ in lines(engine, user_id)] == ["user", "assistant"] * 2
    assert engine.sandbox.calls("chat") == calls + 1


@pytest.mark.parametrize("settings", [{}, {"burst_window_s": 1.0}, {"stale_reply": "send"}])
def test_copies_that_wait_behind_a_message_do_not_take_its_answer(
    engine: Running, settings: dict[str, Any]
) -> None:
    """Neither the burst window nor a newer message takes a copy for the author's next one."""
    engine.sandbox.set_latency(chat=0.3)
    user_id = engine.account(documents=HOURS, **settings)
    ids = [engine.publish(user_id, QUESTION, conversation_id="talk", message_id="m1") for _ in range(3)]
    found = [engine.decided(user_id, event_id)["reason_code"] for event_id in ids]

    assert found == [Reason.REPLIED, Reason.MESSAGE_REPEATED, Reason.MESSAGE_REPEATED]


def test_a_copy_of_an_earlier_message_does_not_take_the_answer_of_the_next(engine: Running) -> None:
    """It is never answered, so nothing may wait for it."""
    engine.sandbox.set_latency(chat=0.5)
    user_id = engine.account(documents=HOURS)
    asked(engine, user_id, QUESTION, message_id="m1")
    next_id = engine.publish(user_id, SATURDAY, conversation_id="talk", message_id="m2")
    engine.publish(user_id, QUESTION, conversation_id="talk", message_id="m1")

    assert engine.decided(user_id, next_id)["reason_code"] == Reason.REPLIED


def test_a_persons_message_that_comes_again_takes_no_conversation(engine: Running) -> None:
    """It was given back to the AI after the first one."""
    user_id = engine.account(documents=HOURS, people_idle_s=1.0)
    asked(engine, user_id, "Hello, I am Lee.", message_id="a1", type="agent_message")
    owned = "SELECT 1 FROM conversations WHERE user_id = %s AND people_until < now()"
    eventually(lambda: engine.row(owned, user_id), "the conversation to return to the AI")
    again = asked(engine, user_id, "Hello, I am Lee.", message_id="a1", type="agent_message")
    question = asked(engine, user_id, QUESTION, message_id="m1")

    assert [again["reason_code"], question["reason_code"]] == [Reason.MESSAGE_REPEATED, Reason.REPLIED]
    assert [role for role, _ in lines(engine, user_id)] == ["agent", "user", "assistant"]


def test_the_same_message_id_in_another_conversation_or_account_is_another_message(engine: Running) -> None:
    """Platforms number messages within a conversation."""
    user_id, other = engine.account(documents=HOURS), engine.account(documents=HOURS)
    found = [
        engine.decide(each, QUESTION, conversation_id=conversation, message_id="1")["reason_code"]
        for each, conversation in ((user_id, "a"), (user_id, "b"), (other, "a"))
    ]

    assert found == [Reason.REPLIED] * 3


def test_a_message_whose_deletion_came_first_is_not_answered(engine: Running) -> None:
    """Channels deliver in any order; it does not enter the history either."""
    user_id = engine.account(documents=HOURS)
    asked(engine, user_id, "", type="message_deleted", message_id="m1")
    late = asked(engine, user_id, QUESTION, message_id="m1", created_at=at(5))

    assert late["reason_code"] == Reason.MESSAGE_WITHDRAWN
    assert lines(engine, user_id) == []


@pytest.mark.parametrize("order", [(10, 50, 30), (50, 30, 10), (30, 10, 50)])
def test_the_newest_edit_counts_in_whatever_order_edits_come(engine: Running, order: tuple[int, ...]) -> None:
    """The times are the author's, in seconds ago."""
    user_id = engine.account(documents=HOURS)
    asked(engine, user_id, QUESTION, message_id="m1", created_at=at(60))
    found = [
        asked(engine, user_id, f"edit of {ago}", type="message_edited", message_id="m1", created_at=at(ago))
        for ago in order
    ]
    outdated = [number for number, ago in enumerate(order) if ago > min(order[: number + 1])]

    assert lines(engine, user_id)[0] == ("user", "edit of 10")
    assert [each["reason_code"] == Reason.CHANGE_OUTDATED for each in found] == [
        number in outdated for number in range(3)
    ]


def test_an_edit_of_a_deleted_message_brings_nothing_back(engine: Running) -> None:
    """It was written before the deletion and came after it."""
    user_id = engine.account(documents=HOURS)
    asked(engine, user_id, QUESTION, message_id="m1")
    asked(engine, user_id, "", type="message_deleted", message_id="m1")
    edit = asked(engine, user_id, SATURDAY, type="message_edited", message_id="m1", created_at=at(5))

    assert edit["reason_code"] == Reason.CHANGE_OUTDATED
    assert lines(engine, user_id) == []


def test_a_message_whose_edit_came_first_is_answered_as_edited(engine: Running) -> None:
    """The newest of two edits counts, and the prompt shows the message once."""
    user_id = engine.account(documents=HOURS)
    asked(engine, user_id, SATURDAY, type="message_edited", message_id="m1", created_at=at(5))
    asked(engine, user_id, "older", type="message_edited", message_id="m1", created_at=at(9))
    assert lines(engine, user_id) == []
    late = asked(engine, user_id, QUESTION, message_id="m1", created_at=at(20))

    assert (late["reason_code"], late["message_text"]) == (Reason.REPLIED, SATURDAY)
    assert [role for role, _ in lines(engine, user_id)] == ["user", "assistant"]
    assert lines(engine, user_id)[0] == ("user", SATURDAY)


def test_a_message_whose_flagged_edit_came_first_is_not_answered(engine: Running) -> None:
    """As it stands now, a rule flags it."""
    user_id = engine.account(documents=HOURS, flagged_keywords=["spam"])
    flagged = asked(engine, user_id, "buy spam", type="message_edited", message_id="m1", created_at=at(5))
    late = asked(engine, user_id, QUESTION, message_id="m1", created_at=at(20))

    assert [flagged["reason_code"], late["reason_code"]] == [Reason.FLAGGED_RULE, Reason.CHANGE_OUTDATED]


def rounds(engine: Running, user_id: str, texts: list[str], **more: Any) -> list[str]:
    """The reasons of messages that each come after the answer to the one before."""
    return [asked(engine, user_id, text, **more)["reason_code"] for text in texts]


def test_an_absence_notice_as_an_answer_ends_at_once_and_goes_to_people_once(engine: Running) -> None:
    """The first message is answered; the notices after it are not, also when people gave it back."""
    user_id = engine.account(**UNASSESSED, people_idle_s=0.5)
    found = rounds(engine, user_id, [QUESTION, AWAY])
    owned = "SELECT 1 FROM conversations WHERE user_id = %s AND people_until < now()"
    eventually(lambda: engine.row(owned, user_id), "the conversation to return to the AI")
    found += rounds(engine, user_id, [AWAY, AWAY])

    assert found == [
        Reason.REPLIED, Reason.AUTO_REPLY_LOOP_ESCALATED, Reason.AUTO_REPLY_LOOP, Reason.AUTO_REPLY_LOOP,
    ]  # fmt: skip


@pytest.mark.parametrize("behind_s", [0.0, 5.0])
def test_two_machines_in_turn_end_after_six_replies(engine: Running, behind_s: float) -> None:
    """Their texts differ, also in a number, and repeat themselves; their clock may be behind."""
    user_id = engine.account(**UNASSESSED, people_idle_s=0.0)
    texts = [f"{SATURDAY} Ref {n:04}" if n % 2 else f"When is the shop open? No. {n:04}" for n in range(12)]
    found = [asked(engine, user_id, text, created_at=at(behind_s))["reason_code"] for text in texts]

    assert found.count(Reason.REPLIED) <= 9
    assert found.count(Reason.AUTO_REPLY_LOOP_ESCALATED) == 1
    assert found[-1] in {Reason.OWNED_BY_PEOPLE, Reason.AUTO_REPLY_LOOP}


def test_an_account_may_answer_machines_without_end(engine: Running) -> None:
    """``loop_replies`` is 0."""
    user_id = engine.account(**UNASSESSED, loop_replies=0)

    assert rounds(engine, user_id, [QUESTION, *[AWAY] * 8]).count(Reason.REPLIED) == 9


def test_a_person_who_asks_on_is_answered(engine: Running) -> None:
    """Different questions without a pause, eight of them."""
    user_id = engine.account(**UNASSESSED)
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "a holiday")
    texts = [f"When is the shop open on {day}?" for day in days]
    found = rounds(engine, user_id, texts)

    assert found == [Reason.REPLIED] * 8
