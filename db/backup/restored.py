"""What a restored database says about the entries of the stream, and which sends it repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from db import migrate
from db.conservation import ENDED
from db.outgoing.events import OutgoingEventType
from db.repair.finding import NO_LONGER_DUE

KNOWN: Final = sa.text("""
    SELECT count(*) FROM unnest(CAST(:ids AS text[])) AS entry (id)
    WHERE id IN (SELECT entry_id FROM event_keys UNION ALL SELECT entry_id FROM duplicates
                 UNION ALL SELECT entry_id FROM dead_letters)
""")
REPEAT: Final = (
    sa.text(
        "UPDATE outbox o SET delivered_at = NULL"
        f" WHERE delivered_at >= :since AND NOT coalesce({NO_LONGER_DUE}, false)"
    ),
    sa.text("UPDATE retractions SET delivered_at = NULL WHERE delivered_at >= :since"),
    sa.text(
        "UPDATE outgoing_events SET streamed_at = NULL WHERE streamed_at >= :since AND type = ANY(:streamed)"
    ).bindparams(streamed=[each.value for each in OutgoingEventType]),
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
    with migrate.engine(url).connect() as connection:
        row = connection.execute(ENDED).mappings().one()
        known = connection.execute(KNOWN, {"ids": list(entry_ids)}).scalar_one()
    ended = row["decided"] + row["duplicates"] + row["buried"] + row["purged"]
    return RestoredEnds(ended=int(ended), waiting=len(entry_ids) - int(known))


def repeat_sends(url: str, since: datetime) -> int:
    """Let workers send again what was sent after ``since``; how many rows.

    Replies that are too late by now, or taken back or overtaken by people, count as delivered.
    What the restored streams have keeps its mark there and is not sent twice.
    """
    with migrate.engine(url).begin() as connection:
        return sum(connection.execute(each, {"since": since}).rowcount for each in REPEAT)
