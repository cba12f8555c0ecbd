"""How events get in: a Python function that refuses what is no event, and a Celery task that keeps it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from threading import Event
from typing import Any
from uuid import UUID, uuid4

import pytest
from celery import Celery
from celery.contrib.testing.worker import start_worker
from celery.exceptions import Reject
from kombu.utils import json as kombu_json
from redis import Redis
from structlog.testing import capture_logs

from tasks.broker import use_losable_channels
from tasks.publishing import celery_task as publish_task
from tasks.publishing.publish import append, open_shards, publish, publish_many
from tasks.shards.agreement import SEAL, double
from tasks.shards.layout import Shard
from tests.support.publishing import on_stream
from tests.support.running import PATIENCE_S
from tests.support.samples import body_of
from worker.errors import PayloadRejected
from worker.settings import Settings

TASK_ID = "task-1"
GOOD = body_of("mine", created_at="2026-11-20T10:00:00Z")


def eager_task(redis_url: str, sent: object, **settings: object) -> Any:
    """Run the Celery task once, as a worker does; its end."""
    celery = Celery("test", set_as_current=False)
    celery.hushgate_settings = Settings.model_validate(
        {
            "DATABASE_URL": "postgresql://nobody@localhost/none",
            "REDIS_URL": redis_url,
            "OPENAI_API_KEY": "k",
            "OPENROUTER_API_KEY": "k",
        }
        | settings
    )
    task = celery.tasks[publish_task.publish_event.name]
    return task.apply(args=[sent], task_id=TASK_ID, throw=True)


def run_task(redis_url: str, sent: object, **settings: object) -> str:
    """Run the Celery task once, as a worker does; what it returns."""
    return str(eager_task(redis_url, sent, **settings).result)


def without(name: str) -> dict[str, Any]:
    """A good event that lacks one field."""
    return {key: value for key, value in GOOD.items() if key != name}


def test_an_event_is_appended_as_it_came(valkey: Redis) -> None:
    """As an object or as bytes; a time with an offset may be a datetime."""
    created_at = datetime.fromisoformat("2026-11-20T10:00:00+00:00")
    publish(valkey, GOOD)
    publish(valkey, json.dumps(GOOD).encode())
    publish(valkey, GOOD | {"created_at": created_at})

    assert on_stream(valkey) == [GOOD, GOOD, GOOD | {"created_at": created_at.isoformat()}]


REFUSED: tuple[tuple[Any, str], ...] = (
    (without("text"), "text: expected a value, the field is required, got nothing"),
    (without("user_id"), "user_id: expected a value, the field is required, got nothing"),
    (GOOD | {"scope": "mail"}, "scope: expected 'chat' or 'comment', got \"mail\""),
    (GOOD | {"text": 7}, "text: expected a valid string, got 7"),
    (GOOD | {"created_at": "2026-11-20"}, "created_at: expected an RFC 3339 time"),
    (GOOD | {"metadata": {"n": {1}}}, "data: expected values that JSON can hold, got Type is not JSON"),
    (GOOD | {"metadata": {"pad": "x" * 262_144}}, "data: expected at most 262144 bytes, got "),
    ({"specversion": "1.0", "id": "cloud", "data": GOOD}, "source: expected a non-empty string, got None"),
    ({}, "user_id: expected a value, the field is required, got nothing"),
    (b"{bad", "data: expected one JSON object, got "),
    ("no event", "data: expected one JSON object, got a str"),
    (None, "data: expected one JSON object, got a NoneType"),
)


@pytest.mark.parametrize(("sent", "said"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_no_event_is_refused_by_the_function(valkey: Redis, sent: Any, said: str) -> None:
    """The error names the field, the expectation and what came; nothing is appended."""
    with pytest.raises(PayloadRejected) as refused:
        publish(valkey, sent)

    assert str(refused.value).startswith(said)
    assert on_stream(valkey) == []


def test_one_bad_event_keeps_a_whole_batch_back(valkey: Redis) -> None:
    """The error names its place, counted from 0."""
    with pytest.raises(PayloadRejected) as refused:
        publish_many(valkey, [GOOD, GOOD, without("text")])

    assert str(refused.value) == "2.text: expected a value, the field is required, got nothing"
    assert on_stream(valkey) == []


def test_payloads_can_be_appended_unchecked(valkey: Redis) -> None:
    """For a replay and for `hushgate publish --raw`."""
    assert len(append(valkey, [b'"no event"', b"{}"])) == 2
    assert on_stream(valkey) == ["no event", {}]


@pytest.mark.parametrize("absent", [{}, {"event_id": None}])
def test_an_event_without_an_id_takes_the_tasks(
    redis_url: str, valkey: Redis, absent: dict[str, Any]
) -> None:
    """Celery may run a task twice, and both entries must be one event; null counts as none."""
    run_task(redis_url, without("event_id") | absent)

    assert on_stream(valkey) == [GOOD | {"event_id": TASK_ID}]


def test_the_task_gives_the_id_of_the_entry(redis_url: str, valkey: Redis) -> None:
    """What it appended is what came."""
    entry_id = run_task(redis_url, GOOD)
    entries: Any = valkey.xrange("hushgate:events")

    assert [entry.decode() for entry, _ in entries] == [entry_id]
    assert on_stream(valkey) == [GOOD]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"event_id": "mine", "text": "a"}, "user_id: expected a value, the field is required, got nothing"),
        ({"specversion": "1.0", "id": "cloud", "data": {}}, "source: expected a non-empty string"),
        (["no", "event"], "data: expected one JSON object, got a JSON array"),
        ("no event", "data: expected one JSON object, got a JSON string"),
        (None, "data: expected one JSON object, got null"),
    ],
)
def test_what_is_no_event_fails_the_task_and_is_kept(
    redis_url: str, valkey: Redis, sent: object, said: str
) -> None:
    """The publisher learns the reason, and the worker keeps the payload as a dead letter."""
    with pytest.raises(PayloadRejected) as refused:
        run_task(redis_url, sent)

    assert str(refused.value).startswith(said)
    assert on_stream(valkey) == [sent]


def test_an_event_too_deep_to_be_written_is_a_dead_letter(redis_url: str, valkey: Redis) -> None:
    """Celery reads deeper messages than a task can write; without an entry no worker would count it."""
    metadata: list[Any] = []
    for _ in range(5_000):
        metadata = [metadata]
    with pytest.raises(PayloadRejected, match="got a JSON string"):
        run_task(redis_url, GOOD | {"metadata": metadata})

    assert on_stream(valkey) == ["an event that is nested too deeply to be written"]


def test_half_an_emoji_is_appended_as_redis_can_parse_it(valkey: Redis, redis_url: str) -> None:
    """From the function as an object or bytes, and from the task; the lane is the conversation's."""
    half = GOOD | {"conversation_id": "c\ud83d"}
    publish(valkey, half)
    publish(valkey, json.dumps(half).encode())
    run_task(redis_url, half)

    assert on_stream(valkey) == [GOOD | {"conversation_id": "c\ufffd"}] * 3


def test_an_integer_beyond_64_bits_does_not_refuse_the_event(valkey: Redis, redis_url: str) -> None:
    """The worker leaves it out of the metadata and notes that."""
    publish(valkey, GOOD | {"metadata": {"n": 2**70}})
    run_task(redis_url, GOOD | {"metadata": {"n": 2**70}})

    assert on_stream(valkey) == [GOOD | {"metadata": {"n": 2**70}}] * 2


def test_what_celery_restores_from_its_messages_is_published(valkey: Redis, redis_url: str) -> None:
    """Its serialiser carries times, UUIDs, decimals and bytes, and restores them in the worker."""
    at, number = datetime(2026, 11, 20, 10, 0, 0, 5, tzinfo=UTC), UUID(int=7)
    metadata = {"at": at, "id": number, "price": Decimal("1.5"), "raw": b"x"}
    kombu: Any = kombu_json
    sent = kombu.loads(kombu.dumps(GOOD | {"created_at": at, "metadata": metadata}))
    assert isinstance(sent["created_at"], datetime)
    run_task(redis_url, sent)
    (found,) = on_stream(valkey)

    assert datetime.fromisoformat(found["created_at"]) == at
    assert found["metadata"] == {"at": at.isoformat(), "id": str(number), "price": 1.5, "raw": "x"}


def test_a_time_without_an_offset_in_a_task_becomes_a_dead_letter(valkey: Redis, redis_url: str) -> None:
    """The worker that publishes must not lose it."""
    with pytest.raises(PayloadRejected, match="created_at"):
        run_task(redis_url, GOOD | {"created_at": datetime(2026, 11, 20, 10)})  # noqa: DTZ001

    assert len(on_stream(valkey)) == 1


@pytest.mark.parametrize("configured", [2, 3], ids=["before the doubling", "never agreed"])
def test_the_task_uses_the_stored_shards_whatever_its_setting(
    redis_url: str, valkey: Redis, configured: int
) -> None:
    """The task of a worker that still has the number of before a doubling must not lose its event."""
    open_shards(valkey, "hushgate:events", 2)
    double(valkey, "hushgate:events")

    entry_id = run_task(redis_url, GOOD, HUSHGATE_SHARDS=configured)

    assert entry_id.partition("@")[2].endswith("/4")


def test_the_task_agrees_on_the_shards_before_the_first_event(redis_url: str) -> None:
    """Appended first, the event would make one stream of what all other processes want as two."""
    assert run_task(redis_url, GOOD, HUSHGATE_SHARDS=2).partition("@")[2].endswith("/2")


@pytest.mark.parametrize("trouble", ["sealed", "full", "away"])
def test_a_task_that_cannot_publish_goes_back_to_the_broker(
    redis_url: str, valkey: Redis, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery acknowledges a task that fails, and its event would be lost."""
    monkeypatch.setattr("tasks.publishing.publish.SEALED_S", 0.01)
    monkeypatch.setattr(publish_task, "PAUSES_S", (0.0, 0.0))
    one = Shard(stream="hushgate:events")
    if trouble == "sealed":
        valkey.eval(SEAL, 2, one.name, one.sealed, "notice")
    if trouble == "full":
        valkey.config_set("maxmemory", 1)
    try:
        ended = eager_task("redis://127.0.0.1:1/0" if trouble == "away" else redis_url, GOOD)
    finally:
        valkey.config_set("maxmemory", 0)

    assert ended.state == "REJECTED"
    assert isinstance(ended.result, Reject)
    assert ended.result.requeue


def test_a_task_without_any_node_of_its_cluster_goes_back_to_the_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its error is no RedisError; a task that fails is acknowledged, and its event would be lost."""
    monkeypatch.setattr(publish_task, "PAUSES_S", ())
    ended = eager_task("redis+cluster://127.0.0.1:1", GOOD, HUSHGATE_BROKER_URL="redis://127.0.0.1:1/0")

    assert ended.state == "REJECTED"


def foreign(**parts: object) -> bytes:
    """A message as a client without Celery may make it."""
    message = {
        "headers": {"task": "noted", "id": "1"},
        "properties": {
            "delivery_tag": str(uuid4()),
            "delivery_info": {"exchange": "", "routing_key": "foreign"},
        },
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "body": "[[],{},{}]",
    }
    return json.dumps(message | parts).encode()


FOREIGN = (
    *(b"no JSON", b"\xff", b"null", b"[]", b"[" * 100_000, json.dumps(GOOD).encode()),
    *(foreign(body=json.dumps(GOOD)), foreign(body="1"), foreign(body=None)),
    *(foreign(headers={"task": ["noted"], "id": "1"}), foreign(properties={"body_encoding": "rot13"})),
    *(
        foreign(body=each)
        for each in ("[[],{},5]", "[[],{},[1]]", "[5,{},{}]", "[[],5,{}]", '[[],{},{"id":5}]')
    ),
)


def test_what_is_no_task_on_the_queue_ends_no_worker(
    redis_url: str, valkey: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery ends a worker by such a message and puts the message back, which ends the next worker.

    Its own start of a worker would also take the logs of all later tests.
    """
    monkeypatch.setattr("kombu.transport._transport_cache", {})  # another test may have used Kombu's own
    monkeypatch.setattr("celery.app.log.Logging.setup", lambda *_words, **_more: None)
    use_losable_channels()
    noted = Event()
    celery = Celery("test", broker=redis_url, set_as_current=False)
    celery.conf.update(
        task_default_queue="foreign", task_acks_late=True, worker_consumer="tasks.broker:PatientConsumer"
    )

    @celery.task(name="noted", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
    def task() -> None:
        noted.set()

    with start_worker(celery, pool="threads", perform_ping_check=False), capture_logs() as logs:
        for message in FOREIGN:
            valkey.lpush("foreign", message)
        task.delay()

        assert noted.wait(PATIENCE_S)
        assert {line["event"] for line in logs} == {"task_dropped"}
    assert not valkey.exists("foreign", "unacked")
