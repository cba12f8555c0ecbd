"""The tables of figures: decisions counted per hour and per day."""

from __future__ import annotations

from typing import Final

from sqlalchemy import ARRAY, BigInteger, CheckConstraint, Column, Index, Integer, Table, Text, func, text
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION

from db.tables import Timestamp, metadata

ZERO: Final = text("0")

figure_spans: Final = Table(
    "figure_spans",
    metadata,
    Column("grain", Text, primary_key=True, comment="hour or day"),
    Column("start", Timestamp, primary_key=True, comment="UTC, a whole hour or midnight"),
    Column("counted_to", Timestamp, nullable=False, comment="decisions of the span before this are counted"),
    Column("events", BigInteger, nullable=False, comment="decisions counted"),
    Column("filled_at", Timestamp, nullable=False, server_default=func.now()),
    CheckConstraint("grain IN ('hour', 'day')", name="grain_known"),
    comment="counted hours and days; one without a row is not counted",
)

figure_counts: Final = Table(
    "figure_counts",
    metadata,
    Column("grain", Text, primary_key=True, comment="hour or day"),
    Column("user_id", Text, primary_key=True, comment="the account; empty: all accounts"),
    Column("start", Timestamp, primary_key=True),
    Column("scope", Text, primary_key=True),
    Column("decision", Text, primary_key=True),
    Column("reason_code", Text, primary_key=True),
    Column("events", BigInteger, nullable=False),
    Column("degraded", BigInteger, nullable=False, server_default=ZERO),
    Column("retried", BigInteger, nullable=False, server_default=ZERO, comment="with a failed call"),
    Column(
        "attempts", BigInteger, nullable=False, server_default=ZERO, comment="calls, including failed ones"
    ),
    Column("prompt_tokens", BigInteger, nullable=False, server_default=ZERO),
    Column("completion_tokens", BigInteger, nullable=False, server_default=ZERO),
    Column("rechecked", BigInteger, nullable=False, server_default=ZERO),
    Column(
        "improved",
        BigInteger,
        nullable=False,
        server_default=ZERO,
        comment="confidence higher after the recheck",
    ),
    Column(
        "assessed",
        BigInteger,
        nullable=False,
        server_default=ZERO,
        comment="with a measured draft",
    ),
    Column(
        "confidence_sum", DOUBLE_PRECISION, nullable=False, server_default=ZERO, comment="of the assessed"
    ),
    Index("ix_figure_counts_start", "grain", "start"),
    comment="decisions counted, per span, account, scope, decision and reason",
)

figure_spreads: Final = Table(
    "figure_spreads",
    metadata,
    Column("grain", Text, primary_key=True, comment="hour or day"),
    Column("user_id", Text, primary_key=True, comment="the account; empty: all accounts"),
    Column("start", Timestamp, primary_key=True),
    Column("scope", Text, primary_key=True),
    Column("decision", Text, primary_key=True),
    Column("kind", Text, primary_key=True, comment="confidence, total_ms, work_ms or waiting_ms"),
    Column(
        "bins", ARRAY(Integer), nullable=False, comment="numbers of the bins that are not empty, ascending"
    ),
    Column("counts", ARRAY(BigInteger), nullable=False, comment="decisions in each of these bins"),
    CheckConstraint("cardinality(bins) = cardinality(counts)", name="one_count_a_bin"),
    Index("ix_figure_spreads_start", "grain", "start"),
    comment="histograms of confidence and of times, per span, account, scope and decision",
)
