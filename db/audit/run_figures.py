"""The figures of one run: all events whose ids start with the run's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from db.audit import decision_list
from db.connection import Connection
from db.rows import all_rows

COUNTS: Final = sa.text(
    "SELECT decision, count(*) FROM ai_decisions WHERE event_id LIKE :run GROUP BY decision"
)
REPLIES: Final = sa.text("""
    SELECT count(*) AS approved,
           count(*) FILTER (WHERE delivered_at IS NULL AND cancelled_at IS NULL) AS waiting,
           count(*) FILTER (WHERE delivered_at IS NULL AND cancelled_at IS NOT NULL) AS cancelled
    FROM outbox WHERE event_id LIKE :run AND origin = 'ai'
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
        SELECT place, lag(place) OVER conversation AS before
        FROM (SELECT user_id, conversation_id, xmin::text::bigint AS committed,
                     string_to_array(split_part(snapshot_json ->> 'entry_id', '@', 1), '-')::bigint[] AS place
              FROM ai_decisions WHERE event_id LIKE :run) AS placed
        WINDOW conversation AS (PARTITION BY user_id, conversation_id ORDER BY committed)
    ) AS decided WHERE place < before
""")
"""In the order of transactions: the clocks of two workers may differ by some milliseconds."""
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
        approved: replies of the AI in the outbox.
        cancelled: replies that a reviewer took back before delivery.
        out_of_order: decisions that came before an earlier event of their conversation.
    """

    reasons: list[dict[str, Any]]
    totals: dict[str, Any]
    examples: list[dict[str, Any]]
    approved: int
    cancelled: int
    out_of_order: int


async def run_progress(connection: Connection, run: str) -> RunProgress:
    """How far a run is, at this moment."""
    values = {"run": f"{run}-%"}
    counts = {row[0]: row[1] for row in await connection.execute(COUNTS, values)}
    (replies,) = await all_rows(connection, REPLIES, values)
    await connection.rollback()  # the next look must see what was committed since
    return RunProgress(counts=counts, waiting=replies["waiting"])


async def run_figures(connection: Connection, run: str) -> RunFigures:
    """What became of a run that is over."""
    values = {"run": f"{run}-%"}
    ids = (await connection.execute(EXAMPLES, values)).scalars()
    (totals,), (replies,) = [await all_rows(connection, query, values) for query in (TOTALS, REPLIES)]
    examples = [await decision_list.get_decision(connection, each) for each in ids]
    return RunFigures(
        reasons=list(await all_rows(connection, BY_REASON, values)),
        totals=totals,
        examples=[row for row in examples if row is not None],
        approved=replies["approved"],
        cancelled=replies["cancelled"],
        out_of_order=int((await connection.execute(OUT_OF_ORDER, values)).scalar_one()),
    )
