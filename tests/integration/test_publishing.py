"""How events get in: a Python function that refuses what is no event, and a Celery task that keeps it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from celery import Celery
from redis import Redis

from tasks import publish_task
from tasks.publish import append, publish, publish_many
from worker.errors import PayloadRejected
from worker.settings import Settings

TASK_ID = "task-1"
GOOD: dict[str, Any] = {
    "event_id": "mine",
    "user_id": "acme",
    "scope": "chat",
    "conversation_id": "c",
    "message_id": "m",
    "author_id": "a",
    "text": "When are you open?",
    "created_at": "2026-11-20T10:00:00Z",
}


@pytest.fixture
def redis(redis_url: str) -> Any:
    """An empty Redis."""
    with Redis.from_url(redis_url) as client:
        yield client


def stored(redis: Redis) -> list[Any]:
    """What stands on the stream, parsed."""
    entries: Any = redis.xrange("hushgate:events")
    return [json.loads(fields[b"data"]) for _, fields in entries]


def run_task(redis_url: str, sent: object) -> str:
    """Run the Celery task once, as a worker does; what it returns."""
    celery = Celery("test", set_as_current=False)
    celery.hushgate_settings = Settings.model_validate(
        {
            "DATABASE_URL": "postgresql://nobody@localhost/none",
            "REDIS_URL": redis_url,
            "OPENAI_API_KEY": "k",
            "OPENROUTER_API_KEY": "k",
        }
    )
    task = celery.tasks[publish_task.publish_event.name]
    return str(task.apply(args=[sent], task_id=TASK_ID, throw=True).result)


def without(name: str) -> dict[str, Any]:
    """A good event that lacks one field."""
    return {key: value for key, value in GOOD.items() if key != name}


def test_an_event_is_appended_as_it_came(redis: Redis) -> None:
    """As an object or as bytes; a time with an offset may be a datetime."""
    created_at = datetime.fromisoformat("2026-11-20T10:00:00+00:00")
    publish(redis, GOOD)
    publish(redis, json.dumps(GOOD).encode())
    publish(redis, GOOD | {"created_at": created_at})

    assert stored(redis) == [GOOD, GOOD, GOOD | {"created_at": created_at.isoformat()}]


REFUSED: tuple[tuple[Any, str], ...] = (
    (without("text"), "text: expected a value, the field is required, got nothing"),
    (without("user_id"), "user_id: expected a value, the field is required, got nothing"),
    (GOOD | {"scope": "mail"}, "scope: expected 'chat' or 'comment', got \"mail\""),
    (GOOD | {"text": 7}, "text: expected a valid string, got 7"),
    (GOOD | {"created_at": "2026-11-20"}, "created_at: expected an RFC 3339 time"),
    (
        GOOD | {"metadata": {"n": 2**70}},
        "data: expected values that JSON can hold, got Integer exceeds 64-bit",
    ),
    (GOOD | {"metadata": {"n": {1}}}, "data: expected values that JSON can hold, got Type is not JSON"),
    (GOOD | {"text": "\ud800"}, "data: expected values that JSON can hold, got str is not valid UTF-8"),
    (GOOD | {"metadata": {"pad": "x" * 262_144}}, "data: expected at most 262144 bytes, got "),
    ({"specversion": "1.0", "id": "cloud", "data": GOOD}, "source: expected a non-empty string, got None"),
    ({}, "user_id: expected a value, the field is required, got nothing"),
    (b"{bad", "data: expected one JSON object, got "),
    ("no event", "data: expected one JSON object, got a str"),
    (None, "data: expected one JSON object, got a NoneType"),
)


@pytest.mark.parametrize(("sent", "said"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_no_event_is_refused_by_the_function(redis: Redis, sent: Any, said: str) -> None:
    """The error names the field, the expectation and what came; nothing is appended."""
    with pytest.raises(PayloadRejected) as refused:
        publish(redis, sent)

    assert str(refused.value).startswith(said)
    assert stored(redis) == []


def test_the_size_limit_of_the_function_is_an_argument(redis: Redis) -> None:
    """For workers whose HUSHGATE_PAYLOAD_BYTES is not the default."""
    publish(redis, GOOD | {"metadata": {"pad": "x" * 300_000}}, most_bytes=400_000)

    assert len(stored(redis)) == 1


def test_one_bad_event_keeps_a_whole_batch_back(redis: Redis) -> None:
    """The error names its place, counted from 0."""
    with pytest.raises(PayloadRejected) as refused:
        publish_many(redis, [GOOD, GOOD, without("text")])

    assert str(refused.value) == "2.text: expected a value, the field is required, got nothing"
    assert stored(redis) == []


def test_payloads_can_be_appended_unchecked(redis: Redis) -> None:
    """For a replay and for `hushgate publish --raw`."""
    assert len(append(redis, [b'"no event"', b"{}"])) == 2
    assert stored(redis) == ["no event", {}]


@pytest.mark.parametrize("absent", [{}, {"event_id": None}])
def test_an_event_without_an_id_takes_the_tasks(redis_url: str, redis: Redis, absent: dict[str, Any]) -> None:
    """Celery may run a task twice, and both entries must be one event; null counts as none."""
    run_task(redis_url, without("event_id") | absent)

    assert stored(redis) == [GOOD | {"event_id": TASK_ID}]


def test_the_task_gives_the_id_of_the_entry(redis_url: str, redis: Redis) -> None:
    """What it appended is what came."""
    entry_id = run_task(redis_url, GOOD)
    entries: Any = redis.xrange("hushgate:events")

    assert [entry.decode() for entry, _ in entries] == [entry_id]
    assert stored(redis) == [GOOD]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"event_id": "mine", "text": "a"}, "user_id: expected a value, the field is required, got nothing"),
        ({"specversion": "1.0", "id": "cloud", "data": {}}, "source: expected a non-empty string"),
        (GOOD | {"metadata": {"n": 2**70}}, "metadata: expected integers of at most 64 bits"),
        (GOOD | {"text": "\ud800"}, "data: expected whole characters"),
        (["no", "event"], "data: expected one JSON object, got a JSON array"),
        ("no event", "data: expected one JSON object, got a JSON string"),
        (None, "data: expected one JSON object, got null"),
    ],
)
def test_what_is_no_event_fails_the_task_and_is_kept(
    redis_url: str, redis: Redis, sent: object, said: str
) -> None:
    """The publisher learns the reason, and the worker keeps the payload as a dead letter."""
    with pytest.raises(PayloadRejected) as refused:
        run_task(redis_url, sent)

    assert str(refused.value).startswith(said)
    assert stored(redis) == [sent]
