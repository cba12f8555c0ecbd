"""Publishing events: one XADD, from Python, from Celery or from any other language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

import orjson
from redis import Redis
from redis.exceptions import OutOfMemoryError

from worker.errors import PayloadRejected, StreamFull
from worker.payload import PAYLOAD_BYTES, Arrival, parse

STREAM: Final = "hushgate:events"
BATCH: Final = 500
"""Events appended in one Redis transaction, which blocks the server for about a millisecond."""


def publish(
    redis: Redis, event: Mapping[str, Any] | bytes, *, stream: str = STREAM, most_bytes: int = PAYLOAD_BYTES
) -> str:
    """Append one event; the id of its stream entry.

    Args:
        redis: a client of the workers' Redis.
        event: the event as an object, or as JSON in UTF-8.
        stream: HUSHGATE_STREAM of the workers.
        most_bytes: HUSHGATE_PAYLOAD_BYTES of the workers.

    Raises:
        PayloadRejected: a worker could not read the event; names field, expectation and what came. Nothing
            was appended.
        StreamFull: Redis has no memory left; keep the event and publish it later.
    """
    return append(redis, [checked(event, most_bytes=most_bytes)], stream=stream)[0]


def publish_many(
    redis: Redis,
    events: Iterable[Mapping[str, Any] | bytes],
    *,
    stream: str = STREAM,
    most_bytes: int = PAYLOAD_BYTES,
) -> Sequence[str]:
    """Append events in order; the ids of their entries.

    Raises:
        PayloadRejected: one of them is no event, such as ``2.text`` of the third. Nothing was appended.
        StreamFull: Redis has no memory left; ``published`` holds the ids of the first events. Keep the
            others and publish them later.
    """
    payloads = []
    for number, event in enumerate(events):
        try:
            payloads.append(checked(event, most_bytes=most_bytes))
        except PayloadRejected as error:
            raise PayloadRejected(
                code=error.code, field=f"{number}.{error.field}", expected=error.expected, got=error.got
            ) from error
    return append(redis, payloads, stream=stream)


def append(redis: Redis, payloads: Iterable[bytes], *, stream: str = STREAM) -> Sequence[str]:
    """Append payloads unchecked and in order; a payload that is no event becomes a dead letter.

    Each ``BATCH`` is appended completely or not at all.

    Raises:
        StreamFull: Redis has no memory left; ``published`` holds the ids of the first payloads.
    """
    ids: list[str] = []
    for batch in _batches(iter(payloads)):
        pipe = redis.pipeline(transaction=True)
        for payload in batch:
            pipe.xadd(stream, {"data": payload})
        try:
            ids += [entry.decode() if isinstance(entry, bytes) else entry for entry in pipe.execute()]
        except OutOfMemoryError:  # no cause: it quotes the command, which holds user text
            raise StreamFull(
                f"{stream}: Redis is full (maxmemory), {len(ids)} events were published before; "
                "keep the others and publish them when the backlog is smaller",
                published=ids,
            ) from None
    return ids


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


def checked(event: Mapping[str, Any] | bytes, *, most_bytes: int = PAYLOAD_BYTES) -> bytes:
    """The payload of an event, checked by the parser that workers use.

    Raises:
        PayloadRejected: a worker could not read the event.
    """
    return checked_event(event, most_bytes=most_bytes).payload


def checked_event(event: Mapping[str, Any] | bytes, *, most_bytes: int = PAYLOAD_BYTES) -> CheckedEvent:
    """An event with its account and id; raises as ``checked``."""
    payload = event if isinstance(event, bytes) else _payload(event)
    arrival = Arrival(entry_id="", size_bytes=len(payload), received_at=datetime.now(UTC))
    parsed = parse(payload, arrival, most_bytes=most_bytes)
    return CheckedEvent(payload=payload, event_id=parsed.event_id, user_id=parsed.user_id)


def _payload(event: Mapping[str, Any]) -> bytes:
    if not isinstance(event, Mapping):
        raise PayloadRejected(
            code="not_object", field="data", expected="one JSON object", got=f"a {type(event).__name__}"
        )
    try:
        return orjson.dumps(dict(event))
    except TypeError as error:  # orjson.JSONEncodeError is one
        raise PayloadRejected(
            code="not_json", field="data", expected="values that JSON can hold", got=str(error)
        ) from error
