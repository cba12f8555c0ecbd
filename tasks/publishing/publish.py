"""Publishing events: one XADD, from Python, from Celery or from any other language."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final
from weakref import WeakKeyDictionary

import orjson
from redis import Redis
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import OutOfMemoryError, RedisClusterException, ResponseError

from tasks.publishing.replicated import APPEND, Replication, TooFewReplicas, append_replicated
from tasks.shards.agreement import agree, current_layout
from tasks.shards.clients import LuaScript, is_cluster_client
from tasks.shards.layout import Shard, ShardLayout
from worker.errors import NotReplicated, PayloadFault, PayloadRejected, StreamFull, StreamSealed
from worker.payload import Arrival, parse, whole_characters

STREAM: Final = "hushgate:events"
BATCH: Final = 500
"""Events appended in one Redis transaction, which blocks the server for about a millisecond."""
PRIMARY: Final = Replication()
"""An entry counts as published when the primary has it."""
NEEDED_ID: Final = "an id, as an event may be published again when too few replicas have it"
SEALED_S: Final = 10.0
"""How long a publisher waits while the shards are doubled, which takes milliseconds."""
LOOK_S: Final = 0.02
CAUSE: Final = "caused error: "
"""Before it redis-py quotes the command of a pipeline, which holds user text."""
LAYOUTS: Final[WeakKeyDictionary[Redis, dict[str, ShardLayout]]] = WeakKeyDictionary()
"""The layouts that clients of this process have seen."""


def publish(
    redis: Redis,
    event: Mapping[str, Any] | bytes,
    *,
    stream: str = STREAM,
    replication: Replication = PRIMARY,
) -> str:
    """Append one event; the id of its stream entry.

    Args:
        redis: a client of the workers' Redis.
        event: the event as an object, or as JSON in UTF-8.
        stream: HUSHGATE_STREAM of the workers.
        replication: when the event counts as published; by default when the primary has it.

    Raises:
        PayloadRejected: a worker could not read the event; names field, expectation and what came. Nothing
            was appended.
        StreamFull: Redis has no memory left; keep the event and publish it later.
        NotReplicated: too few replicas have it yet; publish the same event again.
    """
    payload = checked(event, needs_id=replication.replicas > 0)
    return append(redis, [payload], stream=stream, replication=replication)[0]


def publish_many(
    redis: Redis,
    events: Iterable[Mapping[str, Any] | bytes],
    *,
    stream: str = STREAM,
    replication: Replication = PRIMARY,
) -> Sequence[str]:
    """Append events in order; the ids of their entries.

    Raises:
        PayloadRejected: one of them is no event, such as ``2.text`` of the third. Nothing was appended.
        StreamFull: Redis has no memory left; ``published`` holds the ids of the first events. Keep the
            others and publish them later.
        NotReplicated: too few replicas have the others yet; publish the same events again.
    """
    payloads = []
    for number, event in enumerate(events):
        try:
            payloads.append(checked(event, needs_id=replication.replicas > 0))
        except PayloadRejected as error:
            raise PayloadRejected(
                code=error.code, field=f"{number}.{error.field}", expected=error.expected, got=error.got
            ) from error
    return append(redis, payloads, stream=stream, replication=replication)


def open_shards(redis: Redis, stream: str, shards: int | None) -> None:
    """Agree with the workers on the number of shards (HUSHGATE_SHARDS) before the first event.

    Raises:
        ConfigurationError: the stream has another number.
    """
    LAYOUTS.setdefault(redis, {})[stream] = agree(redis, stream, shards)


def append(
    redis: Redis, payloads: Iterable[bytes], *, stream: str = STREAM, replication: Replication = PRIMARY
) -> Sequence[str]:
    """Append payloads unchecked and in order; a payload that is no event becomes a dead letter.

    The events of a ``BATCH`` that belong to one shard are appended completely or not at all. Publishers that
    know too few shards learn the new number when they find the old stream sealed.

    Raises:
        StreamFull: Redis has no memory left; ``published`` holds the ids of the payloads that were published.
        StreamSealed: the shards are being doubled for more than ``SEALED_S``; ``published`` as above.
        NotReplicated: too few replicas had the entries in time; ``published`` holds the ids of the others.
    """
    ids: list[str] = []
    for batch in _batches(iter(payloads)):
        found: list[str] = [""] * len(batch)
        try:
            _append_batch(redis, batch, stream, found, replication)
        except TooFewReplicas as error:
            ids += filter(None, found)
            raise NotReplicated(
                f"{stream}: expected {replication.replicas} replicas with the entries within"
                f" {replication.wait_s:g} s, got {error}; {len(ids)} events were published before; publish"
                " the others again",
                published=ids,
            ) from None
        except OutOfMemoryError:  # no cause: it quotes the command, which holds user text
            ids += filter(None, found)
            raise StreamFull(
                f"{stream}: Redis is full (maxmemory), {len(ids)} events were published before; "
                "keep the others and publish them when the backlog is smaller",
                published=ids,
            ) from None
        except TimeoutError:
            ids += filter(None, found)
            raise StreamSealed(
                f"{stream}: its shards are being doubled, {len(ids)} events were published before; "
                "run hushgate shards double again, then publish the others",
                published=ids,
            ) from None
        ids += found
    return ids


def _append_batch(
    redis: Redis, batch: Sequence[bytes], stream: str, ids: list[str], replication: Replication
) -> None:
    """Append to the shards of a layout until each payload has its id in ``ids``."""
    known = LAYOUTS.setdefault(redis, {})
    deadline = time.monotonic() + SEALED_S
    while missing := [number for number, entry_id in enumerate(ids) if not entry_id]:
        layout = known.setdefault(stream, ShardLayout(stream=stream))
        by_shard: dict[Shard, list[int]] = {}
        for number in missing:
            by_shard.setdefault(layout.shard_of(batch[number]), []).append(number)
        sealed = False
        for shard, numbers in by_shard.items():
            added = _append_to(redis, shard, [batch[number] for number in numbers], replication)
            sealed = sealed or added is None
            for number, entry_id in zip(numbers, added or (), strict=False):
                ids[number] = entry_id
        if sealed:
            known[stream] = current_layout(redis, stream)
            if known[stream] == layout:
                _wait(deadline)


def _wait(deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise TimeoutError
    time.sleep(LOOK_S)


def _append_to(
    redis: Redis, shard: Shard, payloads: Sequence[bytes], replication: Replication
) -> list[str] | None:
    """The ids of the entries; None when the shard is sealed, and nothing was appended."""
    try:
        added = _appended(redis, shard.name, payloads, replication)
    except OutOfMemoryError:
        raise
    except ResponseError as error:
        if str(error).rpartition(CAUSE)[2].startswith("WRONGTYPE"):
            return None
        raise
    return [(each.decode() if isinstance(each, bytes) else str(each)) + shard.mark for each in added]


def _appended(redis: Redis, stream: str, payloads: Sequence[bytes], replication: Replication) -> list[Any]:
    """Append all payloads or no payload; the answers.

    A transaction of redis-py does not look for a new primary, so a cluster gets a script.
    """
    if replication.replicas:
        return append_replicated(redis, stream, payloads, replication)
    if is_cluster_client(redis):
        try:
            answer: Any = LuaScript(redis, APPEND).run(keys=[stream], args=payloads)
        except RedisClusterException as error:  # it is no RedisError: no node answered
            raise NotConnected(str(error)) from error
        return list(answer)
    pipe = redis.pipeline(transaction=True)
    for payload in payloads:
        pipe.xadd(stream, {"data": payload})
    return pipe.execute()


def _batches(payloads: Iterator[bytes]) -> Iterator[list[bytes]]:
    while batch := list(islice(payloads, BATCH)):
        yield batch


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedEvent:
    """An event that a worker can read.

    Attributes:
        event_id: empty when the event has none and would take the id of its entry.
    """

    payload: bytes
    event_id: str
    user_id: str


def checked(event: Mapping[str, Any] | bytes, *, needs_id: bool = False) -> bytes:
    """The payload of an event, checked by the parser that workers use.

    Raises:
        PayloadRejected: a worker could not read the event, or it ``needs_id`` and has none.
    """
    found = checked_event(event)
    if needs_id and not found.event_id:
        raise PayloadRejected(code=PayloadFault.INVALID, field="event_id", expected=NEEDED_ID, got="nothing")
    return found.payload


def checked_event(event: Mapping[str, Any] | bytes) -> CheckedEvent:
    """An event with its account and id; raises as ``checked``."""
    payload = _whole(event) if isinstance(event, bytes) else _payload(event)
    arrival = Arrival(entry_id="", size_bytes=len(payload), received_at=datetime.now(UTC))
    parsed = parse(payload, arrival)
    return CheckedEvent(payload=payload, event_id=parsed.event_id, user_id=parsed.user_id)


def written(event: object, other: Callable[[object], object] | None = None) -> bytes:
    """An event as JSON: times in RFC 3339, U+FFFD for half a surrogate pair.

    Args:
        event: what a publisher has.
        other: a value that JSON can hold in place of one that it cannot.

    Raises:
        TypeError: the event has a value that JSON cannot hold.
    """
    try:
        return orjson.dumps(event, default=other)
    except TypeError:  # orjson.JSONEncodeError is one; half a surrogate pair, integers beyond 64 bits
        default = other or _refused
        lenient = other is not None
        return whole_characters(json.dumps(event, default=default, skipkeys=lenient).encode())


def _refused(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"Type is not JSON serializable: {type(value).__name__}")


def _whole(payload: bytes) -> bytes:
    """The payload as Redis can parse it; a payload that is not UTF-8 unchanged, for the parser to refuse."""
    try:
        return whole_characters(payload)
    except UnicodeDecodeError:
        return payload


def _payload(event: Mapping[str, Any]) -> bytes:
    if not isinstance(event, Mapping):
        raise PayloadRejected(
            code=PayloadFault.NOT_OBJECT,
            field="data",
            expected="one JSON object",
            got=f"a {type(event).__name__}",
        )
    try:
        return written(dict(event))
    except (TypeError, ValueError, RecursionError) as error:
        raise PayloadRejected(
            code=PayloadFault.NOT_JSON, field="data", expected="values that JSON can hold", got=str(error)
        ) from error
