"""The figures of one run: all events whose ids start with the run's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.audit import decision_list

COUNTS: Final = sa.text(
    "SELECT decision, count(*) FROM ai_decisions WHERE event_id LIKE :run GROUP BY decision"
)
WAITING: Final = sa.text("""
    SELECT count(*) FROM outbox
    WHERE event_id LIKE :run AND delivered_at IS NULL AND cancelled_at IS NULL
""")
BY_REASON: Final = sa.text("""
    SELECT decision, reason_code, count(*) AS events,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS p50_ms,
           percentile_cont(0.95) WITHIN GROUP (ORDER BY ms) AS p95_ms
    FROM (
        SELECT decision, reason_code,
               extract(epoch FROM created_at - (snapshot_json ->> 'received_at')::timestamptz) * 1000 AS ms
        FROM ai_decisions WHERE event_id LIKE :run
    ) AS timed GROUP BY decision, reason_code ORDER BY events DESC, reason_code
""")
TOTALS: Final = sa.text("""
    SELECT count(*) AS events,
           count(*) FILTER (WHERE decision = 'respond') AS replies,
           count(*) FILTER (WHERE decision = 'escalate') AS escalated,
           count(*) FILTER (WHERE decision = 'ignore') AS silent,
           count(*) FILTER (WHERE decision = 'ignore' AND snapshot_json ->> 'error_class' IS NOT NULL)
               AS silent_blocks,
           coalesce(sum((SELECT count(*) FROM jsonb_array_elements(snapshot_json -> 'attempts') AS attempt
                         WHERE attempt ->> 'outcome' <> 'completed')), 0)::int AS failed_attempts,
           coalesce(sum((snapshot_json -> 'tokens' ->> 'prompt')::int
                        + (snapshot_json -> 'tokens' ->> 'completion')::int), 0)::int AS tokens
    FROM ai_decisions WHERE event_id LIKE :run
""")
OUT_OF_ORDER: Final = sa.text("""
    SELECT count(*) FROM (
        SELECT split_part(snapshot_json ->> 'entry_id', '-', 1)::bigint AS ms,
               split_part(snapshot_json ->> 'entry_id', '-', 2)::bigint AS seq,
               lag(split_part(snapshot_json ->> 'entry_id', '-', 1)::bigint) OVER conversation AS ms_before,
               lag(split_part(snapshot_json ->> 'entry_id', '-', 2)::bigint) OVER conversation AS seq_before
        FROM ai_decisions WHERE event_id LIKE :run
        WINDOW conversation AS (PARTITION BY user_id, conversation_id ORDER BY created_at, id)
    ) AS decided WHERE (ms, seq) < (ms_before, seq_before)
""")
APPROVED: Final = sa.text("SELECT count(*) FROM outbox WHERE event_id LIKE :run")
CANCELLED: Final = sa.text("""
    SELECT count(*) FROM outbox
    WHERE event_id LIKE :run AND delivered_at IS NULL AND cancelled_at IS NOT NULL
""")
EXAMPLES: Final = sa.text("""
    SELECT DISTINCT ON (decision, snapshot_json ->> 'error_class') id FROM ai_decisions
    WHERE event_id LIKE :run AND reason_code <> 'UNKNOWN_ACCOUNT'
    ORDER BY decision DESC, snapshot_json ->> 'error_class' DESC NULLS LAST,
             jsonb_array_length(snapshot_json -> 'attempts') DESC, created_at
    LIMIT 3
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """The progress of a run: decisions by kind, and replies that wait for delivery."""

    counts: dict[str, int]
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """What became of a run.

    Attributes:
        reasons: events by decision and reason, with percentiles from arrival to decision in ms.
        totals: figures of the run.
        examples: three decisions whole.
        approved: replies in the outbox.
        cancelled: of those, taken back by a reviewer before delivery.
        out_of_order: decisions that came before an earlier event of their conversation.
    """

    reasons: list[dict[str, Any]]
    totals: dict[str, Any]
    examples: list[dict[str, Any]]
    approved: int
    cancelled: int
    out_of_order: int


async def run_progress(connection: AsyncConnection, run: str) -> RunProgress:
    """How far a run is, at this moment."""
    wanted = {"run": f"{run}-%"}
    counts = {row[0]: row[1] for row in await connection.execute(COUNTS, wanted)}
    waiting = int((await connection.execute(WAITING, wanted)).scalar_one())
    await connection.rollback()  # the next look must see what was committed since
    return RunProgress(counts=counts, waiting=waiting)


async def run_figures(connection: AsyncConnection, run: str) -> RunFigures:
    """What became of a run that is over."""
    wanted = {"run": f"{run}-%"}
    ids = (await connection.execute(EXAMPLES, wanted)).scalars().all()
    return RunFigures(
        reasons=[dict(row) for row in (await connection.execute(BY_REASON, wanted)).mappings()],
        totals=dict((await connection.execute(TOTALS, wanted)).mappings().one()),
        examples=[
            row for each in ids if (row := await decision_list.get_decision(connection, each)) is not None
        ],
        approved=int((await connection.execute(APPROVED, wanted)).scalar_one()),
        cancelled=int((await connection.execute(CANCELLED, wanted)).scalar_one()),
        out_of_order=int((await connection.execute(OUT_OF_ORDER, wanted)).scalar_one()),
    )
