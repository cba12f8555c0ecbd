"""Messages that an author writes in a row are answered once, on real servers."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import orjson
import pytest

from tests.support.conversing import HOURS, QUESTION, SUNDAY, TALK, THANKS, agent
from tests.support.running import Running, eventually
from tests.support.samples import body_of
from worker.reasons import Reason

WINDOW_S = 1.0
LONG_S = 20.0


def publish(engine: Running, user_id: str, *texts: str, **more: Any) -> list[str]:
    """Publish messages in one conversation, one right after the other; their event ids."""
    return [engine.publish(user_id, text, conversation_id=TALK, **more) for text in texts]


def reasons(engine: Running, user_id: str, event_ids: list[str]) -> list[str]:
    """Why the events ended as they did."""
    return [engine.decided(user_id, event_id)["reason_code"] for event_id in event_ids]


def prompted(engine: Running) -> str:
    """The text of the newest prompt, where messages in a row are one message of the user."""
    (request,) = engine.sandbox.requests(last=1, route="chat")
    messages = cast("dict[str, Any]", request["body"])["messages"]
    return "\n".join(message["content"] for message in messages)


def test_messages_in_a_row_get_one_reply_that_knows_them_all(engine: Running) -> None:
    """Each is audited and names the one after it; only the last one is answered."""
    user_id = engine.account(documents=HOURS, burst_window_s=WINDOW_S)
    ids = publish(engine, user_id, "Hello!", SUNDAY, QUESTION)
    rows = [engine.decided(user_id, event_id) for event_id in ids]
    text = prompted(engine)

    assert [row["reason_code"] for row in rows] == [Reason.BURST_MERGED] * 2 + [Reason.REPLIED]
    assert [row["snapshot_json"]["answered_event"] for row in rows] == [*ids[1:], None]
    assert rows[0]["reason"] == f"answered with the author's next message, {rows[1]['message_id']}"
    assert engine.sandbox.calls("chat") == 1
    assert "Hello!" in text
    assert SUNDAY in text
    assert text.endswith(QUESTION)


def test_thanks_behind_a_question_do_not_leave_it_unanswered(engine: Running) -> None:
    """The question is merged into the thanks, so the thanks go to the model."""
    user_id = engine.account(documents=HOURS, burst_window_s=WINDOW_S)
    found = reasons(engine, user_id, publish(engine, user_id, QUESTION, THANKS))

    assert found[0] == Reason.BURST_MERGED
    assert found[1] != Reason.ACKNOWLEDGED
    assert engine.sandbox.calls("chat") > 0
    assert QUESTION in prompted(engine)


def test_the_last_message_waits_for_the_rest_of_the_window_only(engine: Running) -> None:
    """It is answered when nothing came within the window."""
    user_id = engine.account(documents=HOURS, burst_window_s=WINDOW_S)
    row = engine.decide(user_id, "What about weekdays", conversation_id=TALK)
    received = datetime.fromisoformat(row["snapshot_json"]["received_at"])

    assert row["created_at"] - received >= timedelta(seconds=WINDOW_S)


def test_a_finished_question_is_answered_once_also_when_more_comes_while_its_reply_is_made(
    engine: Running,
) -> None:
    """Its reply is begun before the window ends; what comes within the window discards the reply."""
    user_id = engine.account(documents=HOURS, burst_window_s=4.5, stale_reply="send")
    engine.sandbox.set_latency(chat=2.0)
    first = publish(engine, user_id, QUESTION)
    eventually(lambda: engine.sandbox.calls("chat"), "the call of the model")
    engine.sandbox.set_latency(chat=0.0)
    second = publish(engine, user_id, SUNDAY)

    assert reasons(engine, user_id, first + second) == [Reason.BURST_MERGED, Reason.REPLIED]
    assert QUESTION in prompted(engine)


@pytest.mark.parametrize("window_s", [0.0, WINDOW_S])
def test_another_author_is_answered_separately(engine: Running, window_s: float) -> None:
    """Comments of several people under one post are no burst."""
    user_id = engine.account(documents=HOURS, burst_window_s=window_s, stale_reply="send")
    first = publish(engine, user_id, QUESTION, author_id="kim")
    second = publish(engine, user_id, SUNDAY, author_id="lee")

    assert reasons(engine, user_id, first + second) == [Reason.REPLIED] * 2


def test_a_wait_does_not_hold_other_conversations_up(engine: Running) -> None:
    """Each lane waits on its own."""
    waiting = engine.account(documents=HOURS, burst_window_s=LONG_S)
    publish(engine, waiting, QUESTION)
    started = time.monotonic()
    other = engine.decide(engine.account(documents=HOURS), QUESTION)

    assert other["reason_code"] == Reason.REPLIED
    assert time.monotonic() - started < LONG_S / 2


def test_a_backlog_is_merged_without_a_wait(engine: Running) -> None:
    """The arrivals count: a message that waited longer than the window for its turn waits no more."""
    user_id = engine.account(documents=HOURS, burst_window_s=LONG_S, stale_reply="send")
    held, started = datetime.now(UTC) - timedelta(minutes=1), time.monotonic()
    gaps_s = {"first": 0, "second": 5, "third": 40}
    with engine.redis.pipeline(transaction=True) as together:
        for event_id, gap_s in gaps_s.items():
            at = held + timedelta(seconds=gap_s)
            about = {"user_id": user_id, "conversation_id": TALK, "text": QUESTION}
            body = body_of(event_id, created_at=at.isoformat(), **about)
            entry_id = f"{at.timestamp() * 1000:.0f}-0"
            together.xadd("hushgate:events", {"data": orjson.dumps(body)}, id=entry_id)
        together.execute()
    found = reasons(engine, user_id, list(gaps_s))

    assert found == [Reason.BURST_MERGED, Reason.REPLIED, Reason.REPLIED]
    assert time.monotonic() - started < LONG_S / 2


@pytest.mark.parametrize("what", ["rule", "moderation"])
def test_a_flagged_message_is_merged_into_no_prompt(engine: Running, what: str) -> None:
    """The guards test each message of a burst before it may enter a prompt."""
    bad = "spam for all" if what == "rule" else "I will kill you when you are open"
    user_id = engine.account(documents=HOURS, burst_window_s=WINDOW_S, flagged_keywords=["spam"])
    ids = publish(engine, user_id, bad, QUESTION)
    flagged = Reason.FLAGGED_RULE if what == "rule" else Reason.MODERATION_FLAGGED

    assert reasons(engine, user_id, ids) == [flagged, Reason.REPLIED]
    assert bad not in prompted(engine)


def test_a_person_who_writes_ends_the_wait_without_a_model_call(engine: Running) -> None:
    """The message stays in the history that people and later prompts read.

    A person's message takes the conversation when it is read, which may be before the message's turn.
    """
    user_id = engine.account(documents=HOURS, burst_window_s=WINDOW_S)
    asked, wrote = reasons(engine, user_id, [*publish(engine, user_id, QUESTION), agent(engine, user_id)])

    assert asked in {Reason.TAKEN_OVER, Reason.OWNED_BY_PEOPLE}
    assert wrote == Reason.AGENT_MESSAGE
    assert engine.sandbox.calls("chat") == 0
    assert engine.row("SELECT count(*) AS n FROM messages WHERE user_id = %s", user_id) == {"n": 2}


def test_a_message_deleted_at_once_is_not_waited_for(engine: Running) -> None:
    """The one before it is answered instead of being merged into nothing."""
    user_id = engine.account(documents=HOURS, burst_window_s=WINDOW_S)
    first = publish(engine, user_id, QUESTION)
    second = publish(engine, user_id, SUNDAY, message_id="m2")
    deletion = publish(engine, user_id, "", type="message_deleted", message_id="m2")
    found = reasons(engine, user_id, first + second + deletion)

    assert found == [Reason.REPLIED, Reason.MESSAGE_WITHDRAWN, Reason.MESSAGE_DELETED]


def test_a_repetition_of_an_event_is_no_next_message(engine: Running) -> None:
    """Publishers deliver at least once."""
    user_id = engine.account(documents=HOURS, burst_window_s=WINDOW_S)
    (event_id,) = publish(engine, user_id, QUESTION)
    publish(engine, user_id, QUESTION, event_id=event_id)
    eventually(lambda: engine.row("SELECT 1 FROM duplicates WHERE event_id = %s", event_id), "the duplicate")

    assert reasons(engine, user_id, [event_id]) == [Reason.REPLIED]
