"""Held events on real servers: other accounts go on, few are held, and every event ends once, in order."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, cast

import pytest
from redis import Redis

from sandbox.server import SandboxHandle
from tests.support.running import Running, eventually, running

STREAM = "hushgate:events"
PLACES = 20
HELD_OF_ACCOUNT = PLACES // 4
EVENTS = 3 * PLACES
GUARD = {"name": "guard", "endpoint": "guard", "policy": "No threats.", "failure": "hold"}
HOURS = {"Hours": ["We are open from nine to six on weekdays."]}
SLOW = "When are you open on weekdays? [[sandbox:chat=delay=3]]"
CALM = {"moderation_failure": "allow", "flagged_keywords": ["spam"]}


def worker(url: str, redis_url: str, sandbox: SandboxHandle) -> Any:
    """An engine with few places, and one classifier that accounts may need."""
    guard = {"base_url": sandbox.base_url, "model": "gpt-oss-safeguard-20b", "format": "policy"}
    return running(
        url,
        redis_url,
        sandbox,
        HUSHGATE_CLASSIFIERS=json.dumps({"guard": guard}),
        HUSHGATE_IN_FLIGHT=str(PLACES),
        HUSHGATE_DRAIN_S="5",
    )


def owned(engine: Running) -> int:
    """Lanes that run or are held."""
    return int(engine.redis.hlen(f"{{{STREAM}}}:owner"))


def waiting(engine: Running) -> int:
    """Lanes that wait for a place."""
    return int(engine.redis.zcard(f"{{{STREAM}}}:queue"))


def publish_held(engine: Running, user_id: str) -> list[str]:
    """Two events of each conversation; their ids in order."""
    return [
        engine.publish(user_id, "spam?", conversation_id=f"c{number % (EVENTS // 2)}")
        for number in range(EVENTS)
    ]


def is_held(engine: Running) -> bool:
    """True when the account has as many held events as it may, and the rest waits.

    False for a moment while a held event is tried: its room goes to a further event, then one is put back.
    """
    return owned(engine) == HELD_OF_ACCOUNT and waiting(engine) == EVENTS // 2 - HELD_OF_ACCOUNT


def decided(engine: Running, user_id: str) -> list[str]:
    """The decided events of an account, in order."""
    query = "SELECT event_id FROM ai_decisions WHERE user_id = %s ORDER BY created_at, id"
    return [row["event_id"] for row in engine.rows(query, user_id)]


def test_held_events_do_not_stop_other_accounts(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Three times as many as there are places: a fourth of them waits in the worker, the others in lanes."""
    rule = sandbox.add_rule("classifier", "503")
    with worker(database_url, redis_url, sandbox) as engine:
        user_id, other = engine.account(moderators=[GUARD]), engine.account(**CALM)
        published = publish_held(engine, user_id)
        eventually(lambda: is_held(engine), "the account has as many held events as it may")
        rows = [engine.decide(other, "this is spam") for _ in range(PLACES)]
        eventually(lambda: is_held(engine), "the account still has as many held events as it may")
        before = decided(engine, user_id)
        sandbox.drop_rules(rule)
        eventually(lambda: len(decided(engine, user_id)) == EVENTS, "held events end")

        assert before == []
        assert {row["reason_code"] for row in rows} == {"FLAGGED_RULE"}
        assert not any(row["degraded"] for row in engine.rows("SELECT degraded FROM ai_decisions"))
        order = {event: place for place, event in enumerate(decided(engine, user_id))}
        for first, second in zip(published, published[EVENTS // 2 :], strict=False):
            assert order[first] < order[second]


def test_a_worker_with_held_events_drains_at_once_and_another_goes_on(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """SIGTERM waits for no hold, and what was held counts no start."""
    rule = sandbox.add_rule("classifier", "503")
    with worker(database_url, redis_url, sandbox) as engine:
        user_id = engine.account(moderators=[GUARD])
        publish_held(engine, user_id)
        eventually(lambda: is_held(engine), "the account has as many held events as it may")
    with worker(database_url, redis_url, sandbox) as engine:
        eventually(lambda: is_held(engine), "another worker holds them")
        starts = cast("dict[bytes, bytes]", engine.redis.hgetall(f"{{{STREAM}}}:starts"))
        sandbox.drop_rules(rule)
        eventually(lambda: len(decided(engine, user_id)) == EVENTS, "held events end")

        assert set(starts.values()) <= {b"0", b"1"}
        assert len(set(decided(engine, user_id))) == EVENTS
        eventually(lambda: owned(engine) == waiting(engine) == 0, "all decided entries to leave the stream")


def test_a_hold_ends_at_its_longest_even_for_events_that_had_no_room(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Every event of the account ends in silence when it is ``hold_max_s`` old."""
    sandbox.add_rule("classifier", "503")
    with worker(database_url, redis_url, sandbox) as engine:
        user_id = engine.account(moderators=[GUARD], hold_max_s=2.0)
        publish_held(engine, user_id)
        eventually(lambda: len(decided(engine, user_id)) == EVENTS, "held events end")
        reasons = engine.rows("SELECT DISTINCT reason_code FROM ai_decisions WHERE user_id = %s", user_id)

        assert reasons == [{"reason_code": "MODERATION_TIMED_OUT"}]


def publish_limited(engine: Running, user_id: str, text: str = "When are you open on weekdays?") -> None:
    """A burst of one account, each event in a conversation of its own."""
    for _ in range(EVENTS):
        engine.publish(user_id, text)


def is_limited(engine: Running) -> bool:
    """True when few events of the burst wait in the worker beside one that runs, the others in lanes."""
    return 0 < owned(engine) <= HELD_OF_ACCOUNT + 1 and waiting(engine) > 0


def asking(engine: Running) -> int:
    """Calls of the model that wait for their answer."""
    return sum(each["outcome"] == "in_flight" for each in engine.sandbox.requests(route="chat"))


@pytest.mark.parametrize("limit", [{"requests_per_min": 1}, {"concurrent_events": 1}])
def test_events_that_wait_for_limits_of_their_account_leave_the_places_to_others(
    database_url: str, redis_url: str, sandbox: SandboxHandle, limit: dict[str, int]
) -> None:
    """A limited account sends three times as many events as there are places; another one still has half."""
    with worker(database_url, redis_url, sandbox) as engine:
        limited = engine.account(documents=HOURS, **limit)
        other = engine.account(documents=HOURS)
        publish_limited(engine, limited, SLOW)
        eventually(lambda: is_limited(engine), "few events wait in the worker")
        for _ in range(PLACES):
            engine.publish(other, SLOW)

        eventually(lambda: asking(engine) > PLACES // 2, "events of the other account run at once")


def test_events_that_wait_for_a_limit_survive_a_drain_and_end_once_at_their_deadline(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """The worker stops at once, the next one has all of them, and what has no turn in time is too late."""
    with worker(database_url, redis_url, sandbox) as engine:
        user_id = engine.account(documents=HOURS, requests_per_min=1, reply_max_age_s=6.0)
        publish_limited(engine, user_id)
        eventually(lambda: is_limited(engine), "few events wait in the worker")
    with Redis.from_url(redis_url) as redis:
        left = redis.xlen(STREAM)
    with worker(database_url, redis_url, sandbox) as engine:
        eventually(lambda: len(decided(engine, user_id)) >= EVENTS, "every event ends")
        rows = engine.rows("SELECT reason_code FROM ai_decisions WHERE user_id = %s", user_id)
        ends = Counter(row["reason_code"] for row in rows)
        starts = cast("dict[bytes, bytes]", engine.redis.hgetall(f"{{{STREAM}}}:starts"))

        assert left > HELD_OF_ACCOUNT
        assert len(set(decided(engine, user_id))) == ends.total() == EVENTS
        assert ends["TOO_LATE"] >= EVENTS - 2
        assert engine.sandbox.calls("chat") <= 2
        assert (starts, owned(engine), waiting(engine)) == ({}, 0, 0)


def test_a_moderation_hold_keeps_no_slot_of_its_account(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """While one event is held, others of the account have the slot; the held event has it later."""
    rule = sandbox.add_rule("classifier", "503")
    with worker(database_url, redis_url, sandbox) as engine:
        user_id = engine.account(moderators=[GUARD], concurrent_events=1, flagged_keywords=["spam"])
        held = engine.publish(user_id, "Hello?")
        eventually(lambda: engine.sandbox.calls("classifier") >= 2, "the first event is held")
        other = engine.decide(user_id, "this is spam")
        before = decided(engine, user_id)
        sandbox.drop_rules(rule)
        row = engine.decided(user_id, held)

        assert (other["reason_code"], before) == ("FLAGGED_RULE", [other["event_id"]])
        assert not row["degraded"]
