"""API tokens may have the scope ``answer``; no stored token gets it.

Law: as 0001. The previous release makes no such token, and answers 500 to one of this release.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0038"
down_revision: str | Sequence[str] | None = "0037"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

NAME = "ck_api_tokens_scopes_known"
KNOWN = (
    "scopes <> '{}' AND scopes <@ ARRAY['read', 'publish', 'review', 'manage']",
    "scopes <> '{}' AND scopes <@ ARRAY['read', 'publish', 'review', 'answer', 'manage']",
)


def upgrade() -> None:
    """Allow the scope."""
    op.drop_constraint(op.f(NAME), "api_tokens")
    op.create_check_constraint(op.f(NAME), "api_tokens", KNOWN[1])


def downgrade() -> None:
    """Take the scope away, and delete the tokens that have no other."""
    op.execute("DELETE FROM api_tokens WHERE scopes = '{answer}'")
    op.execute("UPDATE api_tokens SET scopes = array_remove(scopes, 'answer') WHERE 'answer' = ANY (scopes)")
    op.drop_constraint(op.f(NAME), "api_tokens")
    op.create_check_constraint(op.f(NAME), "api_tokens", KNOWN[0])
