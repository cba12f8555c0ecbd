"""The tables of figures: decisions counted per hour and per day; goals and notes of leads."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION

from db.columns import NOW, ZERO, Timestamp, choice, index, key, required, table

figure_spans: Final = table(
    "figure_spans",
    "counted hours and days; one without a row is not counted",
    *choice("grain", "hour day", primary_key=True),
    key("start", Timestamp, comment="UTC, a whole hour or midnight"),
    required("counted_to", Timestamp, comment="decisions of the span before this are counted"),
    required("events", sa.BigInteger, comment="decisions counted"),
    required("filled_at", Timestamp, server_default=NOW),
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

figure_parts: Final = table(
    "figure_parts",
    "decisions counted by matched rule, model and language, per span, account, scope, decision and reason",
    key("grain", sa.Text, comment="hour or day"),
    key("user_id", sa.Text, comment="the account; empty: all accounts"),
    key("start", Timestamp),
    key("scope", sa.Text),
    key("dimension", sa.Text, comment="rule, model or language"),
    key("value", sa.Text, comment="never empty; a decision without one has no row"),
    key("decision", sa.Text),
    key("reason_code", sa.Text),
    required("events", sa.BigInteger),
    index("ix_figure_parts_start", "grain", "start"),
)

figure_goals: Final = table(
    "figure_goals",
    "goals that leads set for shares on the dashboard",
    key("user_id", sa.Text, comment="the account; empty: all accounts together"),
    key("measure", sa.Text, comment="blocked, escalated, failed, overturned or answered_in_time"),
    required("share", DOUBLE_PRECISION, comment="0..1; at most, for answered_in_time at least"),
    sa.Column("within_min", sa.Integer, comment="answered_in_time: minutes until an answer is late"),
    required("set_by", sa.Text, comment="login"),
    required("set_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("share BETWEEN 0 AND 1", name="share_possible"),
    sa.CheckConstraint("(measure = 'answered_in_time') = (within_min IS NOT NULL)", name="time_limit"),
    sa.CheckConstraint("within_min BETWEEN 1 AND 10080", name="time_limit_sane"),
)

figure_notes: Final = table(
    "figure_notes",
    "incidents and other events that leads marked on the plots",
    key("id", sa.BigInteger, sa.Identity()),
    required("user_id", sa.Text, comment="the account; empty: all accounts"),
    required("at", Timestamp, comment="when it happened"),
    required("text", sa.Text),
    required("created_by", sa.Text, comment="login"),
    required("created_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("length(text) BETWEEN 1 AND 200", name="text_length"),
    index("ix_figure_notes_at", "at"),
)
