"""What accounts spend, and their budgets.

Law: as 0001. The previous release counts nothing here and knows no budget. While it takes replies held for a
budget for decisions without a name, it does not list them as waiting.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0040"
down_revision: str | Sequence[str] | None = "0038"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

GRAIN = "grain IN ('day', 'month')"
ACTION = "IN ('alert', 'suggest', 'silence')"
WAITS = (
    "reason_code = 'HELD_FOR_APPROVAL' AND kind = 'reply'",
    "reason_code IN ('HELD_FOR_APPROVAL', 'HELD_FOR_BUDGET', 'HELD_UNREAD') AND kind = 'reply'",
)
CHECKS = {
    "budgets_positive": "budget_day_usd > 0 AND budget_month_usd > 0",
    "budget_action_known": f"budget_action {ACTION}",
}
GRANTS = (
    "GRANT SELECT, INSERT, UPDATE ON account_costs TO hushgate_worker",
    "GRANT SELECT, INSERT ON budget_crossings TO hushgate_worker",
    "GRANT SELECT ON account_costs, budget_crossings TO hushgate_reviewer",
)


def upgrade() -> None:
    """Create the tables and the settings."""
    _create_costs()
    op.create_table(
        "budget_crossings",
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account"),
        sa.Column("grain", sa.Text(), nullable=False, comment="day or month"),
        sa.Column("start", sa.Date(), nullable=False, comment="first day"),
        sa.Column(
            "budget_usd", sa.DOUBLE_PRECISION(), nullable=False, comment="a raised budget can be spent again"
        ),
        sa.Column("action", sa.Text(), nullable=False, comment="alert, suggest or silence, at that time"),
        sa.Column(
            "crossed_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="when a worker noticed it",
        ),
        sa.CheckConstraint(GRAIN, name=op.f("ck_budget_crossings_grain_known")),
        sa.CheckConstraint(f"action {ACTION}", name=op.f("ck_budget_crossings_action_known")),
        sa.PrimaryKeyConstraint("user_id", "grain", "start", "budget_usd", name=op.f("pk_budget_crossings")),
        comment="budgets that accounts have spent, one row each",
    )
    for statement in GRANTS:
        op.execute(statement)
    _add_settings()
    _index_waiting(WAITS[1])


def downgrade() -> None:
    """Drop them."""
    _index_waiting(WAITS[0])
    for name in CHECKS:
        op.drop_constraint(op.f(f"ck_ai_rules_{name}"), "ai_rules")
    for name in ("budget_action", "budget_month_usd", "budget_day_usd"):
        op.drop_column("ai_rules", name)
    op.drop_table("budget_crossings")
    op.drop_table("account_costs")


def _create_costs() -> None:
    counts = {
        "decisions": "decisions with such a call",
        "prompt_tokens": None,
        "completion_tokens": None,
        "nano_usd": "of the tokens whose price is known",
        "unpriced_tokens": "tokens without a known price",
    }
    op.create_table(
        "account_costs",
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account"),
        sa.Column("grain", sa.Text(), nullable=False, comment="day or month"),
        sa.Column("start", sa.Date(), nullable=False, comment="first day"),
        sa.Column("purpose", sa.Text(), nullable=False, comment="completion, judge or moderation"),
        sa.Column("model", sa.Text(), nullable=False, comment="as the server names it"),
        sa.Column(
            "slot",
            sa.SmallInteger(),
            nullable=False,
            comment="concurrent commits add to different rows; their sum counts",
        ),
        *(
            sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False, comment=comment)
            for name, comment in counts.items()
        ),
        sa.CheckConstraint(GRAIN, name=op.f("ck_account_costs_grain_known")),
        sa.PrimaryKeyConstraint(
            "user_id", "grain", "start", "purpose", "model", "slot", name=op.f("pk_account_costs")
        ),
        comment="what each account spent in each day and month, UTC; counted in the commits of decisions",
    )
    op.create_index("ix_account_costs_start", "account_costs", ["grain", "start"])


def _add_settings() -> None:
    for name in ("budget_day_usd", "budget_month_usd"):
        op.add_column(
            "ai_rules",
            sa.Column(name, sa.DOUBLE_PRECISION(), comment="US dollars for models; null: no budget"),
        )
    op.add_column(
        "ai_rules",
        sa.Column(
            "budget_action",
            sa.Text(),
            server_default="alert",
            nullable=False,
            comment="alert, suggest or silence, when a budget is spent",
        ),
    )
    for name, condition in CHECKS.items():
        op.create_check_constraint(op.f(f"ck_ai_rules_{name}"), "ai_rules", condition)


def _index_waiting(condition: str) -> None:
    op.drop_index("ix_held_drafts_for_approval", "held_drafts")
    op.create_index(
        "ix_held_drafts_for_approval", "held_drafts", ["send_before"], postgresql_where=sa.text(condition)
    )
