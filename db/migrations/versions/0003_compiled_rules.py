"""Large rule sets, compiled once for all workers.

Law: as 0001.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | Sequence[str] | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Create the table; workers read and insert."""
    op.create_table(
        "compiled_rules",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False, comment="of ai_rules"),
        sa.Column(
            "build", sa.Text(), nullable=False, comment="which matcher compiled it; another one compiles anew"
        ),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "version", "build", name=op.f("pk_compiled_rules")),
        comment="large rule sets, compiled once for the whole fleet",
    )
    op.execute("GRANT SELECT, INSERT, DELETE ON compiled_rules TO hushgate_worker")


def downgrade() -> None:
    """Drop the table; each worker compiles its own sets."""
    op.drop_table("compiled_rules")
