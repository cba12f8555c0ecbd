"""Parts of an export are deflate blocks that form one gzip stream.

Law: as 0001. Only a comment changes: exports that the previous release wrote are recognised by their position
and refused with a reason.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0016"
down_revision: str | Sequence[str] | None = "0015"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

BEFORE = "gzip; the parts in order are the file"
NOW = "deflate blocks; the parts in order are one stream"


def upgrade() -> None:
    """Describe the column."""
    _describe(NOW, BEFORE)


def downgrade() -> None:
    """Describe the column as before."""
    _describe(BEFORE, NOW)


def _describe(comment: str, existing: str) -> None:
    op.alter_column(
        "job_parts",
        "data",
        comment=comment,
        existing_comment=existing,
        existing_type=sa.LargeBinary(),
        existing_nullable=False,
    )
