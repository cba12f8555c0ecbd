"""Tables whose rows change after they are stored are vacuumed after a fixed number of changes.

Law: as 0001. Storage parameters change no statement of the previous release.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0082"
down_revision: str | Sequence[str] | None = "0076"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TABLES = ("conversations", "escalations", "outbox", "outgoing_events", "webhook_deliveries")
SETTINGS = {
    "autovacuum_vacuum_scale_factor": 0,
    "autovacuum_vacuum_threshold": 10_000,
    "autovacuum_analyze_scale_factor": 0,
    "autovacuum_analyze_threshold": 10_000,
}


def upgrade() -> None:
    """Set the parameters; it waits for no reader or writer."""
    settings = ", ".join(f"{name} = {value}" for name, value in SETTINGS.items())
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} SET ({settings})")


def downgrade() -> None:
    """Back to the server's own."""
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} RESET ({', '.join(SETTINGS)})")
