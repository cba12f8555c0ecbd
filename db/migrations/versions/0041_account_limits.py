"""Limits of an account over the whole fleet.

Law: as 0001. The previous release knows no limits.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0041"
down_revision: str | Sequence[str] | None = "0040"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

NAMES = ("requests_per_min", "tokens_per_min", "concurrent_events")


def upgrade() -> None:
    """Add the settings."""
    for name in NAMES:
        comment = "over the whole fleet; null: no limit"
        op.add_column("ai_rules", sa.Column(name, sa.Integer(), comment=comment))
    condition = " AND ".join(f"{name} > 0" for name in NAMES)
    op.create_check_constraint(op.f("ck_ai_rules_limits_positive"), "ai_rules", condition)


def downgrade() -> None:
    """Drop them."""
    op.drop_constraint(op.f("ck_ai_rules_limits_positive"), "ai_rules")
    for name in NAMES:
        op.drop_column("ai_rules", name)
