"""Figures per hour, so that the dashboard never reads what it has read before.

Law: as 0001.
"""

from collections.abc import Sequence

revision: str = "0006"
down_revision: str | Sequence[str] | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Make them."""


def downgrade() -> None:
    """Take them back."""
