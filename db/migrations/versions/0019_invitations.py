"""Invitations: a role on an account, offered to a login.

Law: as 0001. A new table and two comments: the release before this one runs on.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0019"
down_revision: str | Sequence[str] | None = "0018"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

GIVEN_BY = (
    "who set the last initial password and may know its successors; null: the command line",
    "who gave the last first password, or the invitation, and may know the current one; or null",
)
TOKENS = ("tokens of the JSON API; read-only", "read-only credentials of the JSON API")


def upgrade() -> None:
    """Add the table, for the review pages only."""
    op.create_table(
        "invitations",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of the link's token"),
        sa.Column("login", sa.Text(), nullable=False, comment="lower case; a person may have it or not"),
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account; never every account"),
        sa.Column("role", sa.Text(), nullable=False, comment="a member of db.people.records.Role"),
        sa.Column("invited_by", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("login = lower(login) AND login <> ''", name=op.f("ck_invitations_login_lower")),
        sa.CheckConstraint("user_id <> '*'", name=op.f("ck_invitations_one_account")),
        sa.CheckConstraint(
            "role IN ('viewer', 'reviewer', 'lead', 'rule_editor', 'account_admin', 'auditor')",
            name=op.f("ck_invitations_role_known"),
        ),
        sa.ForeignKeyConstraint(["invited_by"], ["people.id"], name=op.f("fk_invitations_invited_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_invitations_token_hash")),
        comment="roles offered by link; deleted once expired",
    )
    op.create_index("ix_invitations_user_id", "invitations", ["user_id"])
    op.create_index("ix_invitations_invited_by", "invitations", ["invited_by", "created_at"])
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON invitations TO hushgate_reviewer")
    _describe(1)


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("invitations")
    _describe(0)


def _describe(which: int) -> None:
    op.alter_column(
        "people", "password_given_by", comment=GIVEN_BY[which], existing_comment=GIVEN_BY[1 - which]
    )
    op.create_table_comment("api_tokens", TOKENS[which], existing_comment=TOKENS[1 - which])
