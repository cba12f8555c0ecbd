"""What was noticed when a document was read, for its owner; the page of each chunk.

Law: as 0001. The previous release ignores the columns, and adds documents with their defaults.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0085"
down_revision: str | Sequence[str] | None = "0083"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

FORMAT_COMMENTS = ("markdown, html, text or pdf", "how it was read, such as pdf")


def upgrade() -> None:
    """Add the columns."""
    op.add_column(
        "documents",
        sa.Column(
            "notes",
            JSONB(),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
            comment="what its reader noticed, for its owner",
        ),
    )
    op.add_column(
        "documents",
        sa.Column(
            "pages",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="pages or sheets; 0: the format has none",
        ),
    )
    op.add_column(
        "chunks",
        sa.Column(
            "page",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="page or sheet on which it starts, from 1",
        ),
    )
    _comment_format(FORMAT_COMMENTS)


def downgrade() -> None:
    """Remove the columns."""
    _comment_format(FORMAT_COMMENTS[::-1])
    op.drop_column("chunks", "page")
    op.drop_column("documents", "pages")
    op.drop_column("documents", "notes")


def _comment_format(comments: tuple[str, str]) -> None:
    before, after = comments
    op.alter_column(
        "documents", "format", existing_type=sa.Text(), comment=after, existing_comment=before,
        existing_nullable=False, existing_server_default=sa.text("'text'::text"),
    )  # fmt: skip
