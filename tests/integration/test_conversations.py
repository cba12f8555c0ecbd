"""One conversation, one voice: takeovers, newer messages, edits and deletions, on real servers."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from db.commits.record import record_decision
from db.pool import WORKER_ROLE, create_pool, fetch_dicts
from tests.support.conversing import GREETING, HOURS, QUESTION, SUNDAY, TALK, THANKS, agent, ask
from tests.support.decided import reply_to, silence_on
from tests.support.running import Running, eventually
from tests.support.samples import NOW, event
from worker.model import EventType
from worker.reasons import Reason
from worker.steps.run import EDITED

HUMAN = "I want to speak to a human"


def prompt(engine: Running) -> list[dict[str, str]]:
    """The messages of the newest prompt."""
    (request,) = engine.sandbox.requests(last=1, route="chat")
    return cast("dict[str, Any]", request["body"])["messages"]  # type: ignore[no-any-return]


def history(engine: Running, user_id: str) -> list[tuple[str, str]]:
    """The stored lines of an account that prompts show, oldest first."""
    shown = "user_id = %s AND sign IS DISTINCT FROM 'early_edit'"
    lines = engine.rows(f"SELECT role, text FROM messages WHERE {shown} ORDER BY created_at, id", user_id)
    return [(line["role"], line["text"]) for line in lines]


def cancelled(engine: Running, user_id: str) -> list[str]:
    """Why replies of an account were cancelled."""
    query = "SELECT cancel_reason FROM outbox WHERE user_id = %s AND cancelled_at IS NOT NULL"
    return [row["cancel_reason"] for row in engine.rows(query, user_id)]


def test_people_who_write_own_the_conversation(engine: Running) -> None:
    """Later messages are stored and audited; no model is called, and the AI stays silent."""
    user_id = engine.account(documents=HOURS)
    wrote = engine.decided(user_id, agent(engine, user_id))
    asked = engine.decide(user_id, QUESTION, conversation_id="talk")

    assert (wrote["reason_code"], asked["reason_code"]) == (Reason.AGENT_MESSAGE, Reason.OWNED_BY_PEOPLE)
    assert engine.sandbox.calls("chat") == engine.sandbox.calls("moderations") == 0
    assert history(engine, user_id) == [("agent", GREETING), ("user", QUESTION)]


def test_a_rule_stops_a_message_also_while_people_answer(engine: Running) -> None:
    """A flagged message stays out of the history that the AI reads later."""
    user_id = engine.account(documents=HOURS, flagged_keywords=["spam"])
    engine.decided(user_id, agent(engine, user_id))
    asked = engine.decide(user_id, "spam for all", conversation_id="talk")

    assert asked["reason_code"] == Reason.FLAGGED_RULE
    assert [role for role, _ in history(engine, user_id)] == ["agent"]


def test_after_a_handoff_the_ai_is_silent(engine: Running) -> None:
    """An escalation passes the conversation to people; other conversations are not affected."""
    user_id = engine.account(documents=HOURS)
    asked = engine.decide(user_id, HUMAN, conversation_id="talk")
    later = engine.decide(user_id, QUESTION, conversation_id="talk")
    other = engine.decide(user_id, QUESTION, conversation_id="another")

    assert [row["decision"] for row in (asked, later, other)] == ["escalate", "ignore", "respond"]
    assert later["reason_code"] == Reason.OWNED_BY_PEOPLE


def test_thanks_end_silently_and_the_conversation_stays_with_the_ai(engine: Running) -> None:
    """They cost no model call, are stored, and the next question is answered with them in the prompt."""
    user_id = engine.account(documents=HOURS)
    engine.decide(user_id, QUESTION, conversation_id="talk")
    calls = engine.sandbox.calls("chat")
    thanks = engine.decide(user_id, THANKS, conversation_id="talk")
    unpaid = engine.sandbox.calls("chat") == calls
    asked = engine.decide(user_id, SUNDAY, conversation_id="talk")

    assert (thanks["reason_code"], thanks["decision"], unpaid) == (Reason.ACKNOWLEDGED, "ignore", True)
    assert asked["decision"] == "respond"
    assert ("user", THANKS) in history(engine, user_id)
    assert THANKS in prompt(engine)[-1]["content"]


def test_an_idle_conversation_returns_to_the_ai(engine: Running) -> None:
    """Its prompt then holds what the person wrote."""
    user_id = engine.account(documents=HOURS, people_idle_s=600)
    engine.decided(user_id, agent(engine, user_id))
    later = "UPDATE conversations SET people_until = people_until - interval '600 s' WHERE user_id = %s"
    assert engine.database.execute(later, (user_id,)).rowcount == 1
    asked = engine.decide(user_id, QUESTION, conversation_id="talk")

    assert asked["decision"] == "respond"
    assert {"role": "assistant", "content": GREETING} in prompt(engine)


def test_a_person_who_writes_while_a_reply_is_made_stops_it(engine: Running) -> None:
    """The takeover happens when the message is read, not at its turn behind the event."""
    engine.sandbox.set_latency(chat=1.0)
    user_id = engine.account(documents=HOURS)
    event_id = engine.publish(user_id, QUESTION, conversation_id="talk")
    eventually(lambda: engine.sandbox.calls("chat"), "the model to be asked")
    started = time.monotonic()
    wrote = agent(engine, user_id)
    taken = "SELECT 1 FROM conversations WHERE user_id = %s AND cause = 'agent_message'"
    eventually(lambda: engine.row(taken, user_id), "the takeover")
    after_s = time.monotonic() - started
    row = engine.decided(user_id, event_id)
    engine.decided(user_id, wrote)
    owner = engine.row("SELECT changes FROM conversations WHERE user_id = %s", user_id)

    assert row["reason_code"] == Reason.TAKEN_OVER
    assert engine.reply(user_id, event_id) is None
    assert history(engine, user_id) == [("user", QUESTION), ("agent", GREETING)]
    assert owner == {"changes": 1}  # early and at its turn: one takeover
    assert after_s < 0.9


@pytest.mark.parametrize(("policy", "first"), [("discard", Reason.SUPERSEDED), ("send", Reason.REPLIED)])
def test_a_newer_message_supersedes_a_reply_that_is_being_made(
    engine: Running, policy: str, first: Reason
) -> None:
    """By default one reply answers both messages; an account may want one for each."""
    engine.sandbox.set_latency(chat=0.5)
    user_id = engine.account(documents=HOURS, stale_reply=policy)
    older = engine.publish(user_id, QUESTION, conversation_id="talk")
    eventually(lambda: engine.sandbox.calls("chat"), "the model to be asked")
    newer = engine.decide(user_id, SUNDAY, conversation_id="talk")
    text = "\n".join(message["content"] for message in prompt(engine))

    assert engine.decided(user_id, older)["reason_code"] == first
    assert newer["reason_code"] == Reason.REPLIED
    assert QUESTION in text
    assert text.endswith(SUNDAY)


def test_a_repetition_of_an_event_does_not_supersede_it(engine: Running) -> None:
    """Publishers deliver at least once: the second entry is a duplicate, and the first is answered."""
    user_id = engine.account(documents=HOURS)
    event_id = ask(engine, user_id)
    engine.publish(user_id, QUESTION, conversation_id="talk", event_id=event_id)
    asked = engine.decided(user_id, event_id)
    eventually(lambda: engine.row("SELECT 1 FROM duplicates WHERE event_id = %s", event_id), "the duplicate")

    assert asked["reason_code"] == Reason.REPLIED


def test_an_event_decided_before_or_unusable_does_not_supersede_another(engine: Running) -> None:
    """A replay and a payload that becomes a dead letter are never answered in its place."""
    user_id = engine.account(documents=HOURS)
    earlier = engine.decide(user_id, SUNDAY, conversation_id="talk")
    event_id = ask(engine, user_id)
    engine.publish(user_id, SUNDAY, conversation_id="talk", event_id=earlier["event_id"])
    engine.publish(user_id, "", conversation_id="talk")

    assert engine.decided(user_id, event_id)["reason_code"] == Reason.REPLIED


def test_a_message_deleted_while_its_reply_is_made_gets_none(engine: Running) -> None:
    """The message leaves the history too."""
    engine.sandbox.set_latency(chat=0.5)
    user_id = engine.account(documents=HOURS)
    event_id = engine.publish(user_id, QUESTION, conversation_id="talk", message_id="m1")
    eventually(lambda: engine.sandbox.calls("chat"), "the model to be asked")
    deletion = engine.publish(user_id, "", type="message_deleted", conversation_id="talk", message_id="m1")

    assert engine.decided(user_id, event_id)["reason_code"] == Reason.MESSAGE_WITHDRAWN
    assert engine.decided(user_id, deletion)["reason_code"] == Reason.MESSAGE_DELETED
    assert history(engine, user_id) == []


def test_the_history_follows_an_edit(engine: Running) -> None:
    """The next prompt has the new text; an edit of a message never seen changes nothing."""
    user_id = engine.account(documents=HOURS)
    engine.decide(user_id, QUESTION, conversation_id="talk", message_id="m1")
    edits = [
        engine.decide(user_id, text, type="message_edited", conversation_id="talk", message_id=message_id)
        for text, message_id in ((SUNDAY, "m1"), ("never seen", "m2"))
    ]

    assert [row["reason_code"] for row in edits] == [Reason.MESSAGE_EDITED] * 2
    assert [text for role, text in history(engine, user_id) if role == "user"] == [SUNDAY]
    assert engine.sandbox.calls("chat") == 1


def test_an_edit_while_the_reply_is_made_is_answered_instead_of_the_old_text(engine: Running) -> None:
    """One reply, to the newer text; the audit says so, and the history has the message once."""
    user_id = engine.account(documents=HOURS)
    asked = ask(engine, user_id, message_id="m1")
    edit = engine.publish(user_id, SUNDAY, type="message_edited", conversation_id=TALK, message_id="m1")
    row, edited = engine.decided(user_id, asked), engine.decided(user_id, edit)
    reply = eventually(lambda: engine.reply(user_id, asked), "the reply")

    assert (row["reason_code"], row["message_text"]) == (Reason.REPLIED, SUNDAY)
    assert row["snapshot_json"]["notes"] == [EDITED]
    assert "closed" in reply["text"]
    assert history(engine, user_id) == [("user", SUNDAY), ("assistant", reply["text"])]
    assert edited["reason_code"] == Reason.MESSAGE_EDITED
    assert engine.sandbox.calls("chat") == 2
    assert engine.reply(user_id, edit) is None


def test_a_persons_message_takes_the_conversation_though_the_publishers_clock_is_slow(
    engine: Running,
) -> None:
    """Local time that is given as UTC: the customer's messages are answered, so the person's counts too."""
    user_id = engine.account(documents=HOURS)
    written = {"conversation_id": TALK, "created_at": (datetime.now(UTC) - timedelta(hours=5)).isoformat()}
    found = [
        engine.decide(user_id, QUESTION, **written),
        engine.decide(user_id, GREETING, type="agent_message", author_id="ann", **written),
        engine.decide(user_id, SUNDAY, **written),
    ]

    assert [each["reason_code"] for each in found] == [
        Reason.REPLIED, Reason.AGENT_MESSAGE, Reason.OWNED_BY_PEOPLE,
    ]  # fmt: skip


def test_the_newest_of_two_edits_is_answered_though_the_publishers_clock_is_fast(engine: Running) -> None:
    """They arrive in the wrong order."""
    user_id = engine.account(documents=HOURS)
    asked = ask(engine, user_id, message_id="m1")
    for ahead_s, text in ((70, SUNDAY), (60, "When do you open on Monday?")):
        written = (datetime.now(UTC) + timedelta(seconds=ahead_s)).isoformat()
        edit = {"type": "message_edited", "message_id": "m1", "created_at": written}
        engine.publish(user_id, text, conversation_id=TALK, **edit)
        time.sleep(0.01)  # Redis counts arrivals in milliseconds

    assert engine.decided(user_id, asked)["message_text"] == SUNDAY


def test_an_edit_that_a_rule_flags_takes_the_exchange_along(engine: Running) -> None:
    """The message and its reply are sealed."""
    user_id = engine.account(documents=HOURS, flagged_keywords=["spam"])
    engine.decide(user_id, QUESTION, conversation_id="talk", message_id="m1")
    edit = engine.decide(user_id, "buy spam", type="message_edited", conversation_id="talk", message_id="m1")

    assert edit["reason_code"] == Reason.FLAGGED_RULE
    assert history(engine, user_id) == []


async def test_a_flagged_edit_cancels_the_reply_that_waits(database_url: str) -> None:
    """The exchange is sealed, so its reply must not enter the conversation either."""
    asked = event(event_id="e1", conversation_id="talk", message_id="m1")
    made = reply_to(asked, NOW)
    edited = replace(asked, event_id="e2", entry_id="2-0", type=EventType.MESSAGE_EDITED, text="buy spam")
    flagged = silence_on(edited, Reason.FLAGGED_RULE, NOW, quarantine=True)
    async with create_pool(database_url, size=1, application="test", role=WORKER_ROLE) as source:
        await record_decision(source, made)
        await record_decision(source, flagged)
        query = "SELECT cancelled_at, cancel_reason FROM outbox WHERE decision_id = %s"
        rows = await fetch_dicts(source, query, (made.decision_id,))

    assert rows == [{"cancelled_at": NOW, "cancel_reason": "message_flagged"}]


@pytest.mark.parametrize("wanted", [True, False])
def test_the_reply_to_a_deleted_message_is_retracted_where_the_account_wants_it(
    engine: Running, wanted: bool
) -> None:
    """Message and reply leave the history in any case."""
    user_id = engine.account(documents=HOURS, retract_deleted=wanted)
    asked = engine.decide(user_id, QUESTION, conversation_id="talk", message_id="m1")
    eventually(lambda: engine.reply(user_id, asked["event_id"]), "the reply")
    sent = "SELECT 1 FROM outbox WHERE user_id = %s AND delivered_at IS NOT NULL"
    eventually(lambda: engine.row(sent, user_id), "the delivery to be stored")
    engine.decide(user_id, "", type="message_deleted", conversation_id="talk", message_id="m1")
    retractions = engine.rows("SELECT decision_id FROM retractions WHERE user_id = %s", user_id)

    assert [row["decision_id"] for row in retractions] == ([asked["id"]] if wanted else [])
    assert history(engine, user_id) == []
