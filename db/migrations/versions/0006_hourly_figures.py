"""Figures per hour and day, so that the dashboard reads each decision once.

Law: as 0001.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | Sequence[str] | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

COUNTED = ("degraded", "retried", "attempts", "prompt_tokens", "completion_tokens", "rechecked", "improved")
COMMENTS = {
    "retried": "with a call that failed",
    "attempts": "calls, failed ones too",
    "improved": "surer after the recheck",
}


def upgrade() -> None:
    """Create the tables; the review server fills them."""
    op.create_table(
        "figure_spans",
        sa.Column("grain", sa.Text(), nullable=False, comment="hour or day"),
        sa.Column(
            "start", sa.DateTime(timezone=True), nullable=False, comment="UTC, a whole hour or midnight"
        ),
        sa.Column(
            "counted_to",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="decisions of the span before this are counted",
        ),
        sa.Column("events", sa.BigInteger(), nullable=False, comment="decisions counted"),
        sa.Column("filled_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("grain IN ('hour', 'day')", name=op.f("ck_figure_spans_grain_known")),
        sa.PrimaryKeyConstraint("grain", "start", name=op.f("pk_figure_spans")),
        comment="which hours and days are counted; one without a row is not",
    )
    op.create_table(
        "figure_counts",
        *_keys(),
        sa.Column("reason_code", sa.Text(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        *(
            sa.Column(
                name, sa.BigInteger(), server_default=sa.text("0"), nullable=False, comment=COMMENTS.get(name)
            )
            for name in COUNTED
        ),
        sa.Column("confidence_sum", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint(
            "grain", "user_id", "start", "scope", "decision", "reason_code", name=op.f("pk_figure_counts")
        ),
        comment="decisions counted, per span, account, scope, decision and reason",
    )
    op.create_index("ix_figure_counts_start", "figure_counts", ["grain", "start"], unique=False)
    op.create_table(
        "figure_spreads",
        *_keys(),
        sa.Column("kind", sa.Text(), nullable=False, comment="a member of db.histograms.Kind"),
        sa.Column(
            "bins",
            sa.ARRAY(sa.Integer()),
            nullable=False,
            comment="numbers of bins that hold something, rising",
        ),
        sa.Column("counts", sa.ARRAY(sa.BigInteger()), nullable=False, comment="what each of them holds"),
        sa.CheckConstraint(
            "cardinality(bins) = cardinality(counts)", name=op.f("ck_figure_spreads_one_count_a_bin")
        ),
        sa.PrimaryKeyConstraint(
            "grain", "user_id", "start", "scope", "decision", "kind", name=op.f("pk_figure_spreads")
        ),
        comment="histograms of confidence and of times, per span, account, scope and decision",
    )
    op.create_index("ix_figure_spreads_start", "figure_spreads", ["grain", "start"], unique=False)
    op.execute(
        "GRANT SELECT, INSERT, UPDATE, DELETE ON figure_spans, figure_counts, figure_spreads TO hushgate_reviewer"
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("figure_spreads")
    op.drop_table("figure_counts")
    op.drop_table("figure_spans")


def _keys() -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("grain", sa.Text(), nullable=False, comment="hour or day"),
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account; empty: all of them together"),
        sa.Column("start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=False),
    )
