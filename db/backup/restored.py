"""What a restored database says about the entries of the stream, and which sends it repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import psycopg
from psycopg.rows import dict_row

from db.connection import compiled
from db.health.conservation import ENDED
from db.outgoing.events import OutgoingEventType
from db.repair.finding import NO_LONGER_DUE

KNOWN: Final = """
    SELECT count(*) FROM unnest(%s::text[]) AS entry (id)
    WHERE id IN (SELECT entry_id FROM event_keys UNION ALL SELECT entry_id FROM duplicates
                 UNION ALL SELECT entry_id FROM dead_letters)
"""
REPEAT: Final = (
    "UPDATE outbox o SET delivered_at = NULL"
    f" WHERE delivered_at >= %(since)s AND NOT coalesce({NO_LONGER_DUE}, false)",
    "UPDATE retractions SET delivered_at = NULL WHERE delivered_at >= %(since)s",
    "UPDATE outgoing_events SET streamed_at = NULL"
    " WHERE streamed_at >= %(since)s AND type = ANY(%(streamed)s)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredEnds:
    """Endings that a restored database has.

    Attributes:
        ended: entries with an ending, also those that retention deleted.
        waiting: of the entries asked about, those without one.
    """

    ended: int
    waiting: int


def restored_ends(url: str, entry_ids: Sequence[str]) -> RestoredEnds:
    """The endings, compared with the entries of the backup."""
    with psycopg.connect(url, connect_timeout=10) as connection:
        ends = connection.cursor(row_factory=dict_row).execute(*compiled(ENDED)).fetchone()
        known = connection.execute(KNOWN, (list(entry_ids),)).fetchone()
    assert ends is not None  # aggregates give a row
    assert known is not None  # likewise
    ended = ends["decided"] + ends["duplicates"] + ends["buried"] + ends["purged"]
    return RestoredEnds(ended=int(ended), waiting=len(entry_ids) - int(known[0]))


def repeat_sends(url: str, since: datetime) -> int:
    """Let workers send again what was sent after ``since``; how many rows.

    Replies that are too late by now, or taken back or overtaken by people, count as delivered.
    What the restored streams have keeps its mark there and is not sent twice.
    """
    values = {"since": since, "streamed": [each.value for each in OutgoingEventType]}
    with psycopg.connect(url, connect_timeout=10) as connection:
        return sum(connection.execute(each, values).rowcount for each in REPEAT)
