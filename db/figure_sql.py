"""The statements that count decisions: they fill the tables of figures and count what is open."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from db.histograms import CONFIDENCE_BINS, PER_DOUBLING, TOP

TIME_BIN: Final = (
    f"CASE WHEN ms <= 1 THEN 0 ELSE least({TOP}, ceil({PER_DOUBLING} * ln(ms) / ln(2::float8)))::int END"
)


class Ran(StrEnum):
    """What happened on the way to a decision."""

    RETRIED = "retried"
    RECHECKED = "rechecked"
    IMPROVED = "improved"


_RAN: Final = {
    Ran.RETRIED: """{attempts} @? '$[*] ? (@.outcome != "completed")'""",
    Ran.RECHECKED: "jsonb_typeof({rechecked}) = 'array'",
    Ran.IMPROVED: "jsonb_typeof({rechecked}) = 'array'"
    " AND ({rechecked} ->> 1)::float8 > ({rechecked} ->> 0)::float8",
}
"""Of the parts of a snapshot; the figures count by them and the lists filter by them."""


def ran(wanted: Ran, *, attempts: str, rechecked: str) -> str:
    """The condition that a decision ran so, of the columns or expressions that hold these parts."""
    return _RAN[wanted].format(attempts=attempts, rechecked=rechecked)


_KEPT: Final = {each: ran(each, attempts="kept.attempts", rechecked="kept.rechecked") for each in Ran}

TOLD: Final = f"""
    told AS MATERIALIZED (
        SELECT d.user_id, d.scope, d.decision, d.reason_code, d.degraded, d.confidence,
               greatest(0, extract(epoch FROM d.created_at - kept.received_at) * 1000)::float8 AS total_ms,
               (SELECT sum(ms::float8)
                FROM jsonb_path_query(kept.stages, '$[*].duration_ms ? (@.type() == "number")') AS ms)
                   AS work_ms,
               {_KEPT[Ran.RETRIED]} AS retried,
               CASE jsonb_typeof(kept.attempts) WHEN 'array' THEN jsonb_array_length(kept.attempts) END
                   AS attempts,
               (kept.tokens ->> 'prompt')::bigint AS prompt_tokens,
               (kept.tokens ->> 'completion')::bigint AS completion_tokens,
               {_KEPT[Ran.RECHECKED]} AS rechecked, {_KEPT[Ran.IMPROVED]} AS improved
        FROM ai_decisions AS d,
             -- one call, so that the snapshot is unpacked once a row
             jsonb_to_record(d.snapshot_json) AS kept (
                 received_at timestamptz, stages jsonb, attempts jsonb, tokens jsonb, rechecked jsonb)
        WHERE d.created_at >= :since AND d.created_at < :until
              AND (CAST(:accounts AS text[]) IS NULL OR d.user_id = ANY (CAST(:accounts AS text[])))
    )
"""  # noqa: S608  # constants of ours

COUNTS: Final = """
    SELECT coalesce(user_id, '') AS user_id, scope, decision, reason_code, count(*) AS events,
           count(*) FILTER (WHERE degraded) AS degraded, count(*) FILTER (WHERE retried) AS retried,
           coalesce(sum(attempts), 0)::bigint AS attempts,
           coalesce(sum(prompt_tokens), 0)::bigint AS prompt_tokens,
           coalesce(sum(completion_tokens), 0)::bigint AS completion_tokens,
           count(*) FILTER (WHERE rechecked) AS rechecked, count(*) FILTER (WHERE improved) AS improved,
           sum(confidence) AS confidence_sum
    FROM told
    GROUP BY GROUPING SETS (
        (user_id, scope, decision, reason_code), (scope, decision, reason_code))
"""

SPREADS: Final = f"""
    SELECT user_id, scope, decision, kind,
           array_agg(bin ORDER BY bin) AS bins, array_agg(events ORDER BY bin) AS counts
    FROM (
        SELECT coalesce(user_id, '') AS user_id, scope, decision, kind, bin, count(*) AS events
        FROM (
            SELECT user_id, scope, decision, 'confidence' AS kind,
                   least({CONFIDENCE_BINS - 1}, floor(confidence * {CONFIDENCE_BINS}))::int AS bin
            FROM told
            UNION ALL
            SELECT user_id, scope, decision, kind, {TIME_BIN}
            FROM told, LATERAL (VALUES ('total_ms', total_ms), ('work_ms', work_ms),
                                       ('waiting_ms', greatest(0, total_ms - work_ms))) AS timed (kind, ms)
            WHERE ms IS NOT NULL AND total_ms IS NOT NULL AND work_ms IS NOT NULL
        ) AS binned
        GROUP BY GROUPING SETS ((user_id, scope, decision, kind, bin), (scope, decision, kind, bin))
    ) AS counted
    GROUP BY user_id, scope, decision, kind
"""  # noqa: S608  # numbers of ours

COLUMNS: Final = (
    "user_id, scope, decision, reason_code, events, degraded, retried, attempts, prompt_tokens,"
    " completion_tokens, rechecked, improved, confidence_sum"
)
SUMS: Final = (
    ", ".join(f"sum({name})::bigint AS {name}" for name in COLUMNS.split(", ")[4:-1])
    + ", sum(confidence_sum) AS confidence_sum"
)
