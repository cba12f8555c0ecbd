"""The sample data of a new installation: one account whose replies never leave, and which can be removed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from db.connection import Connection
from db.rows import changed_rows, first_row

SAMPLE_ACCOUNT: Final = "hushgate-sample"
"""The account of the sample data; not counted among the accounts of the installation.

Triggers on the outgoing tables know it by this name: what it answers is never put on a stream or sent.
"""
STATE: Final = sa.text("""
    SELECT (SELECT min(changed_at) FROM ai_rules WHERE user_id = :sample) AS added_at,
        (SELECT count(*) FROM event_keys WHERE user_id = :sample) AS decided
""")
QUEUE: Final = sa.text("""
    INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id)
    SELECT q.id, d.id, d.created_at, d.user_id
    FROM queues q JOIN ai_decisions d ON d.user_id = :sample
    WHERE q.kind = 'hand' AND q.created_by = :sample AND q.closed_at IS NULL
        AND q.definition -> 'accounts' = jsonb_build_array(CAST(:sample AS text))
        AND NOT EXISTS (SELECT FROM queue_items i WHERE i.queue_id = q.id AND i.decision_id = d.id)
    ORDER BY d.created_at, d.id
    ON CONFLICT DO NOTHING
""")
REMOVE: Final = sa.text("SELECT hushgate_remove_sample()")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleState:
    """What there is of the sample data.

    Attributes:
        added_at: when the sample data was added; None: there is none.
        decided: decided messages; also those that were decided after a removal, for a moment.
    """

    added_at: datetime | None
    decided: int


async def load_sample_state(connection: Connection) -> SampleState:
    """Whether the sample data is there, and how much of it is decided."""
    found = await first_row(connection, STATE, {"sample": SAMPLE_ACCOUNT})
    assert found is not None  # a select without a table
    return SampleState(**found)


async def tend_samples(connection: Connection) -> None:
    """Queue newly decided samples, and delete samples that were decided after their removal."""
    state = await load_sample_state(connection)
    if state.added_at is not None:
        await changed_rows(connection, QUEUE, {"sample": SAMPLE_ACCOUNT})
    elif state.decided:
        await remove_samples(connection)


async def remove_samples(connection: Connection) -> int | None:
    """Delete everything of the sample account; how many decisions, None while a legal hold is on it."""
    removed: int | None = (await connection.execute(REMOVE)).scalar_one()
    return removed
