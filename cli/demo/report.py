"""What the demo shows at its end: counts, examples, and whether the laws held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import sqlalchemy as sa
from redis.asyncio import Redis
from sqlalchemy.ext.asyncio import AsyncConnection

from db import audit, conservation
from db.conservation import Balance

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
EXAMPLES: Final = sa.text("""
    SELECT DISTINCT ON (decision, snapshot_json ->> 'error_class') id FROM ai_decisions
    WHERE event_id LIKE :run AND reason_code <> 'UNKNOWN_ACCOUNT'
    ORDER BY decision DESC, snapshot_json ->> 'error_class' DESC NULLS LAST,
             jsonb_array_length(snapshot_json -> 'attempts') DESC, created_at
    LIMIT 3
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The demo's outcome.

    Attributes:
        reasons: events by decision and reason, with percentiles from arrival to decision in ms.
        totals: figures of the run.
        examples: three decisions whole.
        balance: the conservation law.
        out_of_order: decisions that came before an earlier event of their conversation.
        approved: replies in the outbox.
        delivered: their entries on the reply stream.
        delivered_keys: distinct idempotency keys among them.
    """

    reasons: list[dict[str, Any]]
    totals: dict[str, Any]
    examples: list[dict[str, Any]]
    balance: Balance
    out_of_order: int
    approved: int
    delivered: int
    delivered_keys: int

    def laws(self) -> tuple[tuple[str, bool, str], ...]:
        """Each law with whether it held and the figures."""
        kept = self.balance
        return (
            (
                "conservation",
                kept.holds and kept.unfinished == 0,
                f"{kept.accepted} accepted = {kept.decided} decided + {kept.duplicates} duplicates"
                f" + {kept.buried} dead letters + {kept.unfinished} unfinished",
            ),
            (
                "order",
                self.out_of_order == 0,
                f"{self.out_of_order} decisions out of order in a conversation",
            ),
            (
                "silence",
                self.delivered == self.delivered_keys == self.approved,
                f"{self.approved} approved replies, {self.delivered} on the reply stream,"
                f" {self.delivered - self.delivered_keys} twice",
            ),
        )


async def report(connection: AsyncConnection, redis: Redis, *, run: str, streams: tuple[str, str]) -> Report:
    """Gather everything about the events whose ids start with ``run``."""
    events, replies = streams
    info = await redis.xinfo_stream(events)
    wanted = {"run": f"{run}-%"}
    ids = (await connection.execute(EXAMPLES, wanted)).scalars().all()
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await redis.xrange(replies))
    keys = [key for _, fields in entries if f"/{run}-".encode() in (key := fields[b"key"])]
    return Report(
        reasons=[dict(row) for row in (await connection.execute(BY_REASON, wanted)).mappings()],
        totals=dict((await connection.execute(TOTALS, wanted)).mappings().one()),
        examples=[row for each in ids if (row := await audit.one(connection, each)) is not None],
        balance=await conservation.balance(
            connection, accepted=int(info["entries-added"]), unfinished=int(info["length"])
        ),
        out_of_order=int((await connection.execute(OUT_OF_ORDER, wanted)).scalar_one()),
        delivered=len(keys),
        delivered_keys=len(set(keys)),
        approved=int((await connection.execute(APPROVED, wanted)).scalar_one()),
    )
