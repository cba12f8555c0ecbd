"""The role owner: a person who runs an account alone.

Law: as 0001. The previous release refuses to read a person with the role: give it after the upgrade.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0052"
down_revision: str | Sequence[str] | None = "0049"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TABLES = ("person_roles", "invitations")
BEFORE = "'viewer', 'reviewer', 'lead', 'rule_editor', 'account_admin', 'auditor'"


def upgrade() -> None:
    """Let both tables hold the role."""
    _allow(f"{BEFORE}, 'owner'")


def downgrade() -> None:
    """Take the role from everyone, and withdraw it from invitations."""
    for table in TABLES:
        op.execute(f"DELETE FROM {table} WHERE role = 'owner'")
    _allow(BEFORE)


def _allow(roles: str) -> None:
    for table in TABLES:
        name = op.f(f"ck_{table}_role_known")
        op.drop_constraint(name, table, type_="check")
        op.create_check_constraint(name, table, f"role IN ({roles})")
