"""Statements that count decisions, and that read the tables of figures."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import sqlalchemy as sa

from db.figures.histograms import (
    CONFIDENCE_BINS,
    LABEL,
    LONGEST_LABEL,
    MOST_LABELS,
    PER_DOUBLING,
    POLICY,
    POLICY_BINS,
    TOP,
    SpreadKind,
)
from worker.assessment.values import ReplyKind

TIME_BIN: Final = (
    f"CASE WHEN ms <= 1 THEN 0 ELSE least({TOP}, ceil({PER_DOUBLING} * ln(ms) / ln(2::float8)))::int END"
)


class RunEvent(StrEnum):
    """An event in the run of a decision."""

    RETRIED = "retried"
    RECHECKED = "rechecked"
    IMPROVED = "improved"


_RAN: Final = {
    RunEvent.RETRIED: """{attempts} @? '$[*] ? (@.outcome != "completed")'""",
    RunEvent.RECHECKED: "jsonb_typeof({rechecked}) = 'array'",
    RunEvent.IMPROVED: "jsonb_typeof({rechecked}) = 'array'"
    " AND ({rechecked} ->> 1)::float8 > ({rechecked} ->> 0)::float8",
}
"""Conditions on parts of a snapshot, used by figures and list filters."""


def run_condition(event: RunEvent, *, attempts: str, rechecked: str) -> str:
    """The SQL condition of a run event, on expressions for these parts of a snapshot."""
    return _RAN[event].format(attempts=attempts, rechecked=rechecked)


def assessed(assessment: str) -> str:
    """The SQL condition that a draft was assessed, on an expression for the assessment."""
    known = f"coalesce(({assessment} ->> 'measured')::boolean, true)"
    return f"coalesce(jsonb_typeof({assessment}) = 'object' AND {known}, false)"


def confidence_counts(assessment: str) -> str:
    """The SQL condition that the assessment's confidence counts in means and rates.

    That is of every assessed draft and of those without an answer, with 0 as all policies say.
    """
    refused = f"{assessment} ->> 'category' = '{ReplyKind.REFUSAL}'"
    return f"({assessed(assessment)} OR coalesce({refused}, false))"


_KEPT: Final = {
    each: run_condition(each, attempts="kept.attempts", rechecked="kept.rechecked") for each in RunEvent
}

DECIDED: Final = f"""
    decided AS MATERIALIZED (
        SELECT d.user_id, d.scope, d.decision, d.reason_code, d.degraded,
               d.matched_rule AS rule, kept.models ->> 'completion' AS model,
               lower(kept.language) AS language,
               CASE WHEN {confidence_counts("kept.assessment")}
                   THEN coalesce((kept.assessment ->> 'confidence')::float8, d.confidence) END AS confidence,
               split_part(kept.assessment ->> 'policy', '@', 1) AS policy,
               kept.metadata -> 'labels' AS labels,
               greatest(0, extract(epoch FROM d.created_at - kept.received_at) * 1000)::float8 AS total_ms,
               (SELECT sum(ms::float8)
                FROM jsonb_path_query(kept.stages, '$[*].duration_ms ? (@.type() == "number")') AS ms)
                   AS work_ms,
               {_KEPT[RunEvent.RETRIED]} AS retried,
               CASE jsonb_typeof(kept.attempts) WHEN 'array' THEN jsonb_array_length(kept.attempts) END
                   AS attempts,
               (kept.tokens ->> 'prompt')::bigint AS prompt_tokens,
               (kept.tokens ->> 'completion')::bigint AS completion_tokens,
               {_KEPT[RunEvent.RECHECKED]} AS rechecked, {_KEPT[RunEvent.IMPROVED]} AS improved
        FROM ai_decisions AS d,
             -- one call, so that the snapshot is unpacked once a row
             jsonb_to_record(d.snapshot_json) AS kept (
                 received_at timestamptz, stages jsonb, attempts jsonb, tokens jsonb, rechecked jsonb,
                 assessment jsonb, metadata jsonb, models jsonb, language text)
        WHERE d.created_at >= :since AND d.created_at < :until
              AND (CAST(:accounts AS text[]) IS NULL OR d.user_id = ANY (CAST(:accounts AS text[])))
    )
"""

COUNTS: Final = """
    SELECT coalesce(user_id, '') AS user_id, scope, decision, reason_code, count(*) AS events,
           count(*) FILTER (WHERE degraded) AS degraded, count(*) FILTER (WHERE retried) AS retried,
           coalesce(sum(attempts), 0)::bigint AS attempts,
           coalesce(sum(prompt_tokens), 0)::bigint AS prompt_tokens,
           coalesce(sum(completion_tokens), 0)::bigint AS completion_tokens,
           count(*) FILTER (WHERE rechecked) AS rechecked, count(*) FILTER (WHERE improved) AS improved,
           count(confidence) AS assessed,
           coalesce(sum(confidence::numeric), 0)::float8 AS confidence_sum
    FROM decided
    GROUP BY GROUPING SETS (
        (user_id, scope, decision, reason_code), (scope, decision, reason_code))
"""

PART_CHARS: Final = 200
"""Longest rule, model or language that is counted."""
PARTS: Final = f"""
    SELECT coalesce(user_id, '') AS user_id, scope, dimension, value, decision, reason_code,
           count(*) AS events
    FROM decided, LATERAL (
        VALUES ('rule', rule), ('model', model), ('language', language)) AS part (dimension, value)
    WHERE value <> '' AND length(value) <= {PART_CHARS}
    GROUP BY GROUPING SETS (
        (user_id, scope, dimension, value, decision, reason_code),
        (scope, dimension, value, decision, reason_code))
"""

LABELLED: Final = f"""
    SELECT user_id, scope, decision, confidence, label FROM (
        SELECT user_id, scope, decision, confidence, label,
               dense_rank() OVER (PARTITION BY user_id ORDER BY events DESC, label) AS place
        FROM (
            SELECT user_id, scope, decision, confidence, each.key || '=' || (each.value #>> '{{}}') AS label,
                   count(*) OVER (PARTITION BY user_id, each.key, each.value) AS events
            FROM decided,
                 jsonb_each(CASE jsonb_typeof(labels) WHEN 'object' THEN labels ELSE '{{}}' END) AS each
            WHERE confidence IS NOT NULL AND jsonb_typeof(each.value) = 'string'
                  AND length(each.key) + length(each.value #>> '{{}}') < {LONGEST_LABEL}
        ) AS counted
    ) AS ranked WHERE place <= {MOST_LABELS}
"""
"""A row for each label of an event with an assessed draft; of an account the most frequent labels."""

SPREADS: Final = f"""
    SELECT user_id, scope, decision, kind,
           array_agg(bin ORDER BY bin) AS bins, array_agg(events ORDER BY bin) AS counts
    FROM (
        SELECT coalesce(user_id, '') AS user_id, scope, decision, kind, bin, count(*) AS events
        FROM (
            SELECT user_id, scope, decision, 'confidence' AS kind,
                   least({CONFIDENCE_BINS - 1}, floor(confidence * {CONFIDENCE_BINS}))::int AS bin
            FROM decided WHERE confidence IS NOT NULL
            UNION ALL
            SELECT user_id, scope, decision, '{POLICY}' || policy,
                   least({POLICY_BINS - 1}, floor(confidence * {POLICY_BINS}))::int
            FROM decided WHERE confidence IS NOT NULL AND policy <> ''
            UNION ALL
            SELECT user_id, scope, decision, '{LABEL}' || label,
                   least({POLICY_BINS - 1}, floor(confidence * {POLICY_BINS}))::int
            FROM ({LABELLED}) AS labelled
            UNION ALL
            SELECT user_id, scope, decision, kind, {TIME_BIN}
            FROM decided, LATERAL (VALUES ('total_ms', total_ms), ('work_ms', work_ms),
                                       ('waiting_ms', greatest(0, total_ms - work_ms))) AS timed (kind, ms)
            WHERE ms IS NOT NULL AND total_ms IS NOT NULL AND work_ms IS NOT NULL
        ) AS binned
        GROUP BY GROUPING SETS ((user_id, scope, decision, kind, bin), (scope, decision, kind, bin))
    ) AS counted
    WHERE user_id <> '' OR NOT starts_with(kind, '{LABEL}')  -- labels are an account's own
    GROUP BY user_id, scope, decision, kind
"""

COLUMNS: Final = (
    "user_id, scope, decision, reason_code, events, degraded, retried, attempts, prompt_tokens,"
    " completion_tokens, rechecked, improved, assessed, confidence_sum"
)
SUMS: Final = (
    ", ".join(f"sum({name})::bigint AS {name}" for name in COLUMNS.split(", ")[4:-1])
    + ", sum(confidence_sum::numeric)::float8 AS confidence_sum"
)

SPANS: Final = sa.text("""
    SELECT grain, start, counted_to FROM figure_spans
    WHERE start >= :day AND start < :until ORDER BY start
""")
_MEANS: Final = """
    LATERAL (SELECT sum(each.events)::bigint AS events, sum(each.events * (2 * bin + 1))::bigint AS halves
             FROM unnest(bins, counts) AS each (bin, events)) AS summed
"""
"""The events of a histogram row and twice the sum of their bins' middles: exact, without sorting the bins."""
_MEAN_SUMS: Final = f"""
    sum(summed.events)::bigint AS events,
    (sum(summed.halves) / {2 * POLICY_BINS}.0)::float8 AS confidence_sum
"""
WHERE: Final = """
    user_id = ANY (:users) AND (CAST(:scope AS text) IS NULL OR scope = :scope)
    AND (grain = 'hour' AND start = ANY (:hours) OR grain = 'day' AND start = ANY (:days))
"""
COUNTED: Final = sa.text(f"""
    SELECT date_bin(:step, start, :since) AS step, start >= :open AS open, decision, reason_code, {SUMS}
    FROM figure_counts WHERE {WHERE} GROUP BY 1, 2, 3, 4
""")
SPREAD: Final = sa.text(f"""
    SELECT decision, kind, bin, sum(each.events)::bigint AS events
    FROM figure_spreads, unnest(bins, counts) AS each (bin, events)
    WHERE NOT starts_with(kind, '{POLICY}') AND NOT starts_with(kind, '{LABEL}') AND {WHERE}
    GROUP BY 1, 2, 3
""")
TRUST: Final = sa.text(f"""
    SELECT date_bin(:step, start, :since) AS step, substr(kind, {len(POLICY) + 1}) AS policy,
           {_MEAN_SUMS}
    FROM figure_spreads, {_MEANS}
    WHERE starts_with(kind, '{POLICY}') AND {WHERE} GROUP BY 1, 2
""")
LABELS: Final = sa.text(f"""
    WITH counted AS (
        SELECT date_bin(:step, start, :since) AS step, substr(kind, {len(LABEL) + 1}) AS label,
               {_MEAN_SUMS}
        FROM figure_spreads, {_MEANS}
        WHERE starts_with(kind, '{LABEL}') AND {WHERE} GROUP BY 1, 2
    )
    SELECT * FROM counted WHERE label IN (
        SELECT label FROM counted GROUP BY label ORDER BY sum(events) DESC, label LIMIT :most)
""")
PACES: Final = sa.text(f"""
    WITH binned AS (
        SELECT date_bin(:step, start, :since) AS step, kind, bin, each.events
        FROM figure_spreads, unnest(bins, counts) AS each (bin, events)
        WHERE kind IN ('{SpreadKind.TOTAL}', '{SpreadKind.WAITING}') AND {WHERE}
        UNION ALL
        SELECT CAST(:newest AS timestamptz), kind, bin, events
        FROM unnest(CAST(:kinds AS text[]), CAST(:bins AS int[]), CAST(:events AS bigint[]))
            AS live (kind, bin, events)
    ), summed AS (
        SELECT step, kind, bin, sum(events) AS events FROM binned GROUP BY 1, 2, 3
    ), running AS (
        SELECT step, kind, bin, sum(events) OVER (PARTITION BY step, kind ORDER BY bin) AS reached,
               sum(events) OVER (PARTITION BY step, kind) AS total FROM summed
    )
    SELECT step, kind, min(bin) FILTER (WHERE reached >= 0.5 * total) AS p50,
           min(bin) FILTER (WHERE reached >= 0.95 * total) AS p95,
           min(bin) FILTER (WHERE reached >= 0.99 * total) AS p99
    FROM running GROUP BY 1, 2 ORDER BY 1, 2
""")
BLOCKED_DAYS: Final = sa.text(f"""
    SELECT date_trunc('day', start, 'UTC') AS day, reason_code, sum(events)::bigint AS events
    FROM figure_counts WHERE {WHERE} AND reason_code = ANY (:reasons) GROUP BY 1, 2 ORDER BY 1, 2
""")
ACCOUNTS: Final = sa.text("""
    SELECT user_id, sum(events)::bigint AS events,
           coalesce(sum(events) FILTER (WHERE decision = 'respond'), 0)::bigint AS replies,
           coalesce(sum(events) FILTER (WHERE decision = 'escalate'), 0)::bigint AS escalated,
           coalesce(sum(events) FILTER (WHERE reason_code = ANY (:blocked)), 0)::bigint AS blocked,
           coalesce(sum(events) FILTER (WHERE reason_code = ANY (:failed)), 0)::bigint AS failed
    FROM figure_counts
    WHERE user_id <> '' AND (CAST(:users AS text[]) IS NULL OR user_id = ANY (CAST(:users AS text[])))
          AND (CAST(:scope AS text) IS NULL OR scope = :scope)
          AND (grain = 'hour' AND start = ANY (:hours) OR grain = 'day' AND start = ANY (:days))
    GROUP BY user_id ORDER BY events DESC, user_id LIMIT :most
""")
LIVE_COUNTS: Final = sa.text(f"WITH {DECIDED} {COUNTS}")
LIVE_SPREADS: Final = sa.text(f"WITH {DECIDED} {SPREADS}")
CONFIDENCE_BANDS: Final = 10


class SampleDimension(StrEnum):
    """A property of a decision that divides samples and error rates."""

    REASON = "reason_code"
    RULE = "matched_rule"
    POLICY = "policy"
    LANGUAGE = "language"
    CONFIDENCE = "confidence_band"


_ASSESSMENT: Final = "(ai_decisions.snapshot_json -> 'assessment')"
_BAND: Final = f"floor(least(ai_decisions.confidence, 0.9999) * {CONFIDENCE_BANDS})"


def _edge(band: str) -> str:
    return f"to_char(({band} / {CONFIDENCE_BANDS})::numeric, 'FM0.0')"


EXPRESSIONS: Final = {
    SampleDimension.REASON: "ai_decisions.reason_code",
    SampleDimension.RULE: "ai_decisions.matched_rule",
    SampleDimension.POLICY: f"nullif(split_part({_ASSESSMENT} ->> 'policy', '@', 1), '')",
    SampleDimension.LANGUAGE: "lower(nullif(ai_decisions.snapshot_json ->> 'language', ''))",
    SampleDimension.CONFIDENCE: (
        f"CASE WHEN {assessed(_ASSESSMENT)} THEN {_edge(_BAND)} || '-' || {_edge(f'({_BAND} + 1)')} END"
    ),
}
"""SQL of a dimension; null for a decision without it. A band of confidence reads ``0.6-0.7``."""
