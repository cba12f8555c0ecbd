"""The event of a stream entry, by the same rules wherever an entry is read."""

from __future__ import annotations

from datetime import datetime

from tasks.lanes.stream import EntryGrant, WaitingEntry
from tasks.shards.layout import shard_number
from worker.errors import PayloadRejected
from worker.model import Event
from worker.payload import arrival_of, parse


def event_of(entry: EntryGrant | WaitingEntry, now: datetime) -> Event:
    """The event of an entry.

    Raises:
        PayloadRejected: the entry becomes a dead letter.
    """
    event = parse(entry.payload, arrival_of(entry.entry_id, entry.size_bytes, now))
    require_place(event)
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
            code="wrong_shard",
            field="conversation_id",
            expected=f"an event of shard {number} of {of}",
            got=f"one of shard {right}; see Shards in docs/scale.md",
        )
