"""The tables of figures: decisions counted per hour and per day."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION

from db.columns import NOW, ZERO, Timestamp, index, key, required, table

figure_spans: Final = table(
    "figure_spans",
    "counted hours and days; one without a row is not counted",
    key("grain", sa.Text, comment="hour or day"),
    key("start", Timestamp, comment="UTC, a whole hour or midnight"),
    required("counted_to", Timestamp, comment="decisions of the span before this are counted"),
    required("events", sa.BigInteger, comment="decisions counted"),
    required("filled_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("grain IN ('hour', 'day')", name="grain_known"),
)

figure_counts: Final = table(
    "figure_counts",
    "decisions counted, per span, account, scope, decision and reason",
    key("grain", sa.Text, comment="hour or day"),
    key("user_id", sa.Text, comment="the account; empty: all accounts"),
    key("start", Timestamp),
    key("scope", sa.Text),
    key("decision", sa.Text),
    key("reason_code", sa.Text),
    required("events", sa.BigInteger),
    required("degraded", sa.BigInteger, server_default=ZERO),
    required("retried", sa.BigInteger, server_default=ZERO, comment="with a failed call"),
    required("attempts", sa.BigInteger, server_default=ZERO, comment="calls, including failed ones"),
    required("prompt_tokens", sa.BigInteger, server_default=ZERO),
    required("completion_tokens", sa.BigInteger, server_default=ZERO),
    required("rechecked", sa.BigInteger, server_default=ZERO),
    required("improved", sa.BigInteger, server_default=ZERO, comment="confidence higher after the recheck"),
    required("assessed", sa.BigInteger, server_default=ZERO, comment="with a measured draft"),
    required("confidence_sum", DOUBLE_PRECISION, server_default=ZERO, comment="of the assessed"),
    index("ix_figure_counts_start", "grain", "start"),
)

figure_spreads: Final = table(
    "figure_spreads",
    "histograms of confidence and of times, per span, account, scope and decision",
    key("grain", sa.Text, comment="hour or day"),
    key("user_id", sa.Text, comment="the account; empty: all accounts"),
    key("start", Timestamp),
    key("scope", sa.Text),
    key("decision", sa.Text),
    key(
        "kind", sa.Text, comment="confidence, total_ms, work_ms, waiting_ms, or policy or label and its name"
    ),
    required("bins", sa.ARRAY(sa.Integer), comment="numbers of the bins that are not empty, ascending"),
    required("counts", sa.ARRAY(sa.BigInteger), comment="decisions in each of these bins"),
    sa.CheckConstraint("cardinality(bins) = cardinality(counts)", name="one_count_a_bin"),
    index("ix_figure_spreads_start", "grain", "start"),
)
