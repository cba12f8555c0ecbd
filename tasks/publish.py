"""How events get in: one XADD, from Python, from Celery or from any other language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from redis import Redis


def publish(redis: Redis, event: Mapping[str, Any] | bytes, *, stream: str = "hushgate:events") -> str:
    """Append one event; the id of its stream entry."""
    return publish_many(redis, [event], stream=stream)[0]


def publish_many(
    redis: Redis, events: Iterable[Mapping[str, Any] | bytes], *, stream: str = "hushgate:events"
) -> Sequence[str]:
    """Append events in one round trip, in order; the ids of their entries."""
    pipe = redis.pipeline(transaction=False)
    for event in events:
        pipe.xadd(stream, {"data": event if isinstance(event, bytes) else orjson.dumps(dict(event))})
    return [entry_id.decode() if isinstance(entry_id, bytes) else entry_id for entry_id in pipe.execute()]
