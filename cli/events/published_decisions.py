"""``hushgate publish --wait``: what was decided on the published events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import psycopg

from cli.options import read_audit
from db.audit.event_outcomes import load_outcomes
from db.audit.event_records import EventOutcomes
from db.connection import Connection
from tasks.publishing.publish import checked_event
from worker.errors import ConfigurationError, PayloadRejected

SHOWN: Final = 20
Published = tuple[bytes, str]
"""A payload and the id of its stream entry."""


def decision_lines(published: Sequence[Published]) -> Iterator[str]:
    """A line for each of the first decided events: decision, reason and the text that was sent.

    Nothing without ``DATABASE_URL``.
    """
    shown = [(_id_of(payload) or entry_id, entry_id) for payload, entry_id in published[:SHOWN]]

    async def load(connection: Connection) -> list[EventOutcomes]:
        now = datetime.now(UTC)
        return [
            await load_outcomes(connection, event_id, user_id=None, entry_ids=(entry_id,), now=now)
            for event_id, entry_id in shown
        ]

    try:
        found = read_audit(load)
    except ConfigurationError:
        return
    except psycopg.Error as error:
        yield f"the decisions were not read: {type(error).__name__}"
        return
    for (event_id, entry_id), outcomes in zip(shown, found, strict=True):
        yield from _lines(event_id, entry_id, outcomes)
    if len(published) > SHOWN:
        yield f"... and {len(published) - SHOWN} more; hushgate decisions list shows them"


def _lines(event_id: str, entry_id: str, found: EventOutcomes) -> Iterator[str]:
    """The decision on an entry, also where another account has an event of the same id."""
    for outcome in found.outcomes:
        if outcome.decision is None or (outcome.entry_id != entry_id and len(found.outcomes) > 1):
            continue
        decision, texts = outcome.decision, outcome.texts
        yield f"{event_id}: {decision.decision} because {decision.reason_code}: {decision.reason}"
        if texts is not None and texts.reply is not None:
            sent = f"{texts.disclosure or ''} {texts.reply}"
            yield f"  sent: {' '.join(sent.split())}"
    for letter in found.letters:
        if letter.entry_id == entry_id:
            yield (
                f"{event_id}: dead letter, {letter.reason_code}: {letter.field}:"
                f" expected {letter.expected}, got {letter.got}"
            )


def _id_of(payload: bytes) -> str | None:
    """The event id of a payload; None where the event has none."""
    try:
        return checked_event(payload).event_id
    except PayloadRejected:
        return None
