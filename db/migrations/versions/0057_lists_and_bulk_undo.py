"""Jobs that undo a bulk review; columns and order of the list of decisions, kept per person.

Law: as 0001. Servers of the previous release claim no job of the new kind, and leave the columns as they are.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0057"
down_revision: str | Sequence[str] | None = "0056"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

KINDS = "'export', 'bulk_review'"


def upgrade() -> None:
    """Allow the kind, and add the columns."""
    _allow(f"{KINDS}, 'bulk_undo'", "export, bulk_review or bulk_undo")
    op.add_column(
        "people",
        sa.Column(
            "list_columns",
            sa.ARRAY(sa.Text),
            comment="optional columns of the list of decisions; null: the usual ones",
        ),
    )
    op.add_column(
        "people",
        sa.Column(
            "list_order",
            sa.Text,
            nullable=False,
            server_default=sa.text("'newest'"),
            comment="which decisions come first in lists: newest or oldest",
        ),
    )
    op.create_check_constraint(
        op.f("ck_people_list_order_known"), "people", "list_order IN ('newest', 'oldest')"
    )


def downgrade() -> None:
    """Drop the columns, and the jobs of the kind: what they withdrew stays withdrawn."""
    op.drop_constraint(op.f("ck_people_list_order_known"), "people", type_="check")
    op.drop_column("people", "list_order")
    op.drop_column("people", "list_columns")
    op.execute("DELETE FROM jobs WHERE kind = 'bulk_undo'")
    _allow(KINDS, "export or bulk_review")


def _allow(kinds: str, comment: str) -> None:
    name = op.f("ck_jobs_kind_known")
    op.drop_constraint(name, "jobs", type_="check")
    op.create_check_constraint(name, "jobs", f"kind IN ({kinds})")
    op.execute(f"COMMENT ON COLUMN jobs.kind IS '{comment}'")
