"""Overload on a running engine: which messages are left out, and what is answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.server import SandboxHandle
from tests.support.replays import replay_differs
from tests.support.running import Running, eventually, running

HOURS = {"Opening hours": ["We are open from nine to six on weekdays."]}
QUESTION = "When are you open on weekdays?"
MODEL_S, MAX_AGE_S = 0.2, 2.0
EVENTS = 40
"""Two places answer some 8 messages a second: 16 of them within 2 s."""


@pytest.fixture
def engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """An engine with two places."""
    sandbox.set_latency(chat=MODEL_S)
    with running(database_url, redis_url, sandbox, HUSHGATE_IN_FLIGHT="2") as found:
        yield found


def outcomes(engine: Running, shedding: str, *scopes: str) -> list[tuple[str, str, bool]]:
    """Publish all messages at once; scope, reason and whether there is a reply, in the order published."""
    user_id = engine.account(documents=HOURS, shedding=shedding, reply_max_age_s=MAX_AGE_S)
    for _ in range(6):
        engine.decide(user_id, QUESTION)
    ids = [engine.publish(user_id, QUESTION, scope=scopes[n % len(scopes)]) for n in range(EVENTS)]
    eventually(lambda: engine.redis.xlen("hushgate:events") == 0, "every decision")
    found = {
        row["event_id"]: (row["scope"], row["reason_code"], row["reply"])
        for row in engine.rows(
            "SELECT d.event_id, d.scope, d.reason_code, o.event_id IS NOT NULL AS reply FROM ai_decisions d"
            " LEFT JOIN outbox o USING (user_id, event_id) WHERE d.user_id = %s", user_id
        )
    }  # fmt: skip
    return [found[event_id] for event_id in ids]


def test_the_newest_are_answered_and_the_oldest_left_out(engine: Running) -> None:
    """Without a model call for those; the last ones are answered in time, which the default does not do.

    A replay leaves out the same ones.
    """
    found = outcomes(engine, "newest_first", "chat")
    calls = engine.sandbox.calls("chat")
    shed = [number for number, (_, reason, _) in enumerate(found) if reason == "SHED"]
    replied = [number for number, (*_, reply) in enumerate(found) if reply]

    assert len(shed) >= EVENTS // 3
    assert len(replied) >= 5
    assert sum(replied) / len(replied) > sum(shed) / len(shed)
    assert calls <= 6 + EVENTS - len(shed)
    ids = engine.rows("SELECT id FROM ai_decisions WHERE reason_code = 'SHED' ORDER BY id LIMIT 3")
    assert replay_differs(engine, [row["id"] for row in ids]) == {}


def test_comments_are_left_out_before_chats(engine: Running) -> None:
    """No chat is."""
    found = outcomes(engine, "chats_first", "comment", "chat", "comment")
    shed = [scope for scope, reason, _ in found if reason == "SHED"]
    replied = [scope for scope, _, reply in found if reply]

    assert len(shed) >= EVENTS // 4
    assert set(shed) == {"comment"}
    assert replied.count("chat") >= 5
