"""${message}

Law: this migration runs while workers of the previous release still write. Add, backfill, and only drop in
a later release. A new database is not made by migrations: change the declarations and ``db/sql`` too.
"""

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision: str = ${repr(up_revision)}
down_revision: str | None = ${repr(down_revision)}


def upgrade() -> None:
    """${message}."""
    ${upgrades if upgrades else "pass"}
