"""Publishes events to Hushgate. Copy this file into a host application; it needs only ``redis``, or nothing.

``publish`` appends to the stream of the workers. ``post`` sends to ``hushgate gateway`` over HTTP, for
publishers that cannot reach Redis or must have an API token, and for events in several shards.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from redis import Redis

STREAM: Final = "hushgate:events"
"""HUSHGATE_STREAM of the workers."""
TIMEOUT_S: Final = 20.0

Event = Mapping[str, Any]
"""docs/event.schema.json; ``created_at`` is added where it is missing."""


class Refused(Exception):
    """The gateway took no event: correct the events for a status of 4xx, repeat the call for 429 and 5xx."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"HTTP {status}: {body}")
        self.status = status


def publish(redis: Redis, event: Event, *, stream: str = STREAM) -> str:
    """Append one event; the id of its stream entry. A payload that is no event becomes a dead letter.

    Raises:
        redis.exceptions.RedisError: nothing was appended, or the answer was lost: publish the event again
            with the same ``event_id``, which is decided once. WRONGTYPE: the events are in several shards.
    """
    entry: Any = redis.xadd(stream, {"data": json.dumps(_dated(event))})
    return entry.decode() if isinstance(entry, bytes) else str(entry)


def post(url: str, token: str, events: Sequence[Event]) -> Mapping[str, Any]:
    """Send events to a gateway, such as ``http://127.0.0.1:8086``; its answer.

    Raises:
        Refused: no event was accepted, or not all of them when several shards hold them.
        OSError: no answer; send the same events again.
    """
    request = urllib.request.Request(
        f"{url}/api/v1/events",
        json.dumps([_dated(event) for event in events]).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found
    except urllib.error.HTTPError as error:
        raise Refused(error.code, error.read(2000).decode(errors="replace")) from None


def _dated(event: Event) -> dict[str, Any]:
    return {"created_at": datetime.now(UTC).isoformat(), **event}
