"""Escalations to their stream: stored events, in the order of the changes of their conversation."""

from __future__ import annotations

import structlog

from db.outgoing.events import OutgoingEvent, OutgoingEventType, events_to_stream
from tasks.sending.entry_types import (
    ESCALATION_CLOSED,
    ESCALATION_OPENED,
    EscalationClosedEntry,
    EscalationOpenedEntry,
    entry_key,
)
from tasks.sending.once_stream import OutgoingEntry
from tasks.sending.relay import RelayedRows

log = structlog.get_logger(__name__)


def escalation_rows(pages: str | None) -> RelayedRows[OutgoingEvent]:
    """The waiting events of escalations; ``pages`` as of ``opened_entry``."""
    return RelayedRows(
        waiting=lambda pool, limit, _now, _lease: events_to_stream(pool, limit),
        entry=lambda event: escalation_entry(event, pages),
        log_sent=lambda event: log.info("escalation_sent", type=event.type, decision_id=event.key),
        log_postponed=lambda error: log.warning("escalations_postponed", error=error),
        look_s=5.0,  # each look is one index lookup; a worker's own escalation is sent at once
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


def escalation_entry(event: OutgoingEvent, pages: str | None) -> OutgoingEntry:
    """The stream entry of a stored event of an escalation.

    The mark and the key name the type: both entries of an escalation are on one stream.
    """
    mark = entry_mark(event.key, event.type)
    key = entry_key(event.user_id, str(event.body["event_id"]), event.type)
    match OutgoingEventType(event.type):
        case OutgoingEventType.ESCALATION_OPENED:
            opened = opened_entry(event, pages)
            return ESCALATION_OPENED.entry(opened, mark=mark, at=opened.opened_at, key=key)
        case OutgoingEventType.ESCALATION_CLOSED:
            closed = closed_entry(event, pages)
            return ESCALATION_CLOSED.entry(closed, mark=mark, at=closed.closed_at, key=key)
