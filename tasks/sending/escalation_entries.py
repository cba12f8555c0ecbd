"""The entries of the escalation stream, made from stored events."""

from __future__ import annotations

from db.outgoing.events import OutgoingEvent, OutgoingEventType
from tasks.sending.once_stream import Outgoing
from tasks.sending.outgoing import (
    ESCALATION_CLOSED,
    ESCALATION_OPENED,
    EscalationClosedEntry,
    EscalationOpenedEntry,
)


def opened_entry(event: OutgoingEvent, pages: str | None) -> EscalationOpenedEntry:
    """The body of ``escalation.opened``; ``pages`` is the URL of the review pages, or None."""
    return EscalationOpenedEntry(**event.body, link=decision_link(pages, event.key))


def closed_entry(event: OutgoingEvent, pages: str | None) -> EscalationClosedEntry:
    """The body of ``escalation.closed``."""
    return EscalationClosedEntry(**event.body, link=decision_link(pages, event.key))


def decision_link(pages: str | None, decision_id: str) -> str | None:
    """The page of a decision; None where the URL of the review pages is not set."""
    return f"{pages.rstrip('/')}/decisions/{decision_id}" if pages else None


def entry_mark(key: str, event_type: str) -> str:
    """The id of an event's entry within the escalation stream."""
    return f"{key}:{event_type}"


def escalation_entry(event: OutgoingEvent, pages: str | None) -> Outgoing:
    """The stream entry of a stored event of an escalation.

    The mark and the key name the type: both entries of an escalation are on one stream.
    """
    mark, key = entry_mark(event.key, event.type), f"{event.user_id}/{event.body['event_id']}/{event.type}"
    match OutgoingEventType(event.type):
        case OutgoingEventType.ESCALATION_OPENED:
            opened = opened_entry(event, pages)
            return ESCALATION_OPENED.outgoing(opened, mark=mark, at=opened.opened_at, key=key)
        case OutgoingEventType.ESCALATION_CLOSED:
            closed = closed_entry(event, pages)
            return ESCALATION_CLOSED.outgoing(closed, mark=mark, at=closed.closed_at, key=key)
