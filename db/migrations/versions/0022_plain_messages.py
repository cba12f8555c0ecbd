"""Messages of database functions in plain English.

Law: as 0001. The functions keep their signatures, rights and search path.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0022"
down_revision: str | Sequence[str] | None = "0021"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

# function -> (the old words, the new words)
MESSAGES = {
    "hushgate_end_exports": (
        "A decision that it may hold was erased. Ask for it anew.",
        "A decision that this export may contain was erased. Request the export again.",
    ),
    "hushgate_sweep_before": (
        "retention deletes nothing younger than a day, asked for %",
        "retention: expected a moment at least a day ago, got %",
    ),
    "hushgate_drop_partitions": (
        "retention drops no month younger than 28 days, asked for %",
        "retention: expected a day at least 28 days ago, got %",
    ),
}
DEFINITION = sa.text("SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE p.oid = to_regproc(:name)")


def upgrade() -> None:
    """Replace the messages."""
    _replace(0, 1)


def downgrade() -> None:
    """Restore the old messages."""
    _replace(1, 0)


def _replace(old: int, new: int) -> None:
    bind = op.get_bind()
    for name, words in MESSAGES.items():
        definition = bind.execute(DEFINITION, {"name": name}).scalar_one()
        if words[old] not in definition:
            raise RuntimeError(f"{name}: expected the message {words[old]!r}, got another definition")
        bind.exec_driver_sql(definition.replace(words[old], words[new]).replace("%", "%%"))
