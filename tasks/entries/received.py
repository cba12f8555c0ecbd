"""An entry as it was received: an event that is decided, or a payload that becomes a dead letter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from db.commits.known import StoredEvent
from db.dead_letters import DeadLetter
from tasks.lanes.entry_events import event_of
from tasks.lanes.stream import EntryGrant
from worker.errors import PayloadRejected
from worker.model import Event, EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """An entry that is an event."""

    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """An entry that cannot become an event."""

    letter: DeadLetter


def received(grant: EntryGrant, now: datetime) -> Accepted | Rejected:
    """What an entry is."""
    try:
        return Accepted(event=event_of(grant, now))
    except PayloadRejected as why:
        return Rejected(letter=letter_of(grant, why, now))


def letter_of(grant: EntryGrant, why: PayloadRejected, now: datetime) -> DeadLetter:
    """The dead letter of an entry."""
    return DeadLetter(
        entry_id=grant.entry_id,
        payload=grant.payload,
        size_bytes=max(grant.size_bytes, 0),
        why=why,
        at=now,
    )


def poison(what_happened: str) -> PayloadRejected:
    """Why an entry that parses became a dead letter: it has no outcome."""
    return PayloadRejected(code="poison", field="data", expected="an outcome", got=what_happened)


def edited_first(event: Event, stored: StoredEvent) -> Event:
    """The event with the text of an edit that came before its message."""
    if stored.edited_text is None or event.type is not EventType.MESSAGE:
        return event
    return replace(event, text=stored.edited_text, edited_first=True)
