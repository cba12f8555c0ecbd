"""The statements of ``db.figures.dashboard``."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from db.figures.histograms import SpreadKind
from db.figures.statements import (
    COUNTS,
    DECIDED,
    SPREADS,
    SUMS,
)

SPANS: Final = sa.text("""
    SELECT grain, start, counted_to FROM figure_spans
    WHERE start >= :day AND start < :until ORDER BY start
""")
FIRST: Final = sa.text("SELECT date_trunc('hour', min(created_at), 'UTC') FROM ai_decisions")
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
    FROM figure_spreads, unnest(bins, counts) AS each (bin, events) WHERE {WHERE} GROUP BY 1, 2, 3
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
