"""A rollout goes with its candidate, which the removal of sample data deletes first.

Law: as 0001. The previous release notices nothing.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0076"
down_revision: str | Sequence[str] | None = "0075"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

NAME = "fk_rollouts_candidate_id_candidates"


def upgrade() -> None:
    """Add the cascade."""
    _reference("CASCADE")


def downgrade() -> None:
    """Drop it."""
    _reference(None)


def _reference(ondelete: str | None) -> None:
    op.drop_constraint(op.f(NAME), "rollouts", type_="foreignkey")
    op.create_foreign_key(op.f(NAME), "rollouts", "candidates", ["candidate_id"], ["id"], ondelete=ondelete)
