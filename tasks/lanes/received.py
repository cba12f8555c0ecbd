"""The event in a stream entry, by the same rules wherever an entry is read."""

from __future__ import annotations

from datetime import datetime

import structlog

from tasks.process import telemetry
from tasks.shards.layout import shard_number
from worker.errors import PayloadFault, PayloadRejected
from worker.model import Event
from worker.payload import arrival_of, parse

log = structlog.get_logger(__name__)


def received_event(entry_id: str, size_bytes: int, payload: bytes, now: datetime) -> Event | PayloadRejected:
    """The event of an entry, or why the entry becomes a dead letter."""
    try:
        event = parse(payload, arrival_of(entry_id, size_bytes, now))
        require_place(event)
    except PayloadRejected as why:
        return why.with_traceback(None)  # its frames hold the payload
    except Exception as error:  # the other entries of the same READ must run
        log.exception("payload_unreadable", entry_id=entry_id, exc_info=error)
        telemetry.report(error)
        return poison(f"{type(error).__name__} while it was parsed")
    return event


def require_place(event: Event) -> None:
    """Refuse an event in another shard than its conversation's: its order is not known there.

    Raises:
        PayloadRejected: the publisher routed it wrongly.
    """
    mark = event.entry_id.partition("@")[2]
    if not mark:
        return
    number, _, of = mark.partition("/")
    right = shard_number(event.user_id, event.conversation_id, int(of))
    if right != int(number):
        raise PayloadRejected(
            code=PayloadFault.WRONG_SHARD,
            field="conversation_id",
            expected=f"an event of shard {number} of {of}",
            got=f"one of shard {right}; see Shards in docs/scale.md",
        )


def poison(what_happened: str) -> PayloadRejected:
    """Why an entry with a valid payload becomes a dead letter: the entry has no outcome."""
    return PayloadRejected(code=PayloadFault.POISON, field="data", expected="an outcome", got=what_happened)
