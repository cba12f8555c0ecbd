"""A new database: declared tables, with the functions, triggers and rights of ``db/sql`` and of features."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import sqlalchemy as sa

from db import review_tables, tables  # noqa: F401  # they add their tables to metadata
from db.account_settings import tables as account_tables  # noqa: F401  # likewise
from db.answers import tables as answer_tables  # noqa: F401  # likewise
from db.collaboration import tables as collaboration_tables  # noqa: F401  # likewise
from db.columns import metadata
from db.costs import tables as cost_tables  # noqa: F401  # likewise
from db.customer_feedback import tables as feedback_tables  # noqa: F401  # likewise
from db.documents import tables as document_tables  # noqa: F401  # likewise
from db.escalations import tables as escalation_tables  # noqa: F401  # likewise
from db.figures import tables as figure_tables  # noqa: F401  # likewise
from db.late_moderation import tables as late_moderation_tables  # noqa: F401  # likewise
from db.model_servers import tables as model_server_tables  # noqa: F401  # likewise
from db.outgoing import tables as outgoing_tables  # noqa: F401  # likewise
from db.people import tables as people_tables  # noqa: F401  # likewise
from db.retention import tables as retention_tables  # noqa: F401  # likewise
from db.webhooks import tables as webhook_tables  # noqa: F401  # likewise
from features.feature import hook_values

hook_values("tables")  # the features add their tables to metadata
FEATURE_FILES: Final[tuple[Path, ...]] = tuple(
    file for folder in hook_values("sql") for file in sorted(folder.glob("*.sql"))
)
FILES: Final = {
    file.stem: file
    for file in (*sorted((Path(__file__).parent.parent / "sql").glob("*.sql")), *FEATURE_FILES)
}
"""By name; features add functions."""
BEFORE_TABLES: Final = ("extensions", "roles", "index_functions")
FUNCTIONS: Final = (
    "partitions",
    "versions",
    "documents",
    "dead_letters",
    "drafts",
    "webhooks",
    "holds",
    "retention",
    "samples",
    "token_owners",
    "authors",
    "answered_decisions",
    "customer_feedback",
    *(file.stem for file in FEATURE_FILES),
)
AFTER_TABLES: Final = (*FUNCTIONS, "triggers", "grants", "first_queues")
SCHEMA: Final = sa.text("SELECT quote_ident(current_schema())")


def create(connection: sa.Connection) -> None:
    """Create everything in the current schema, within the caller's transaction."""
    connection.exec_driver_sql("SET LOCAL check_function_bodies = off")  # they name functions of later files
    run(connection, *BEFORE_TABLES)
    metadata.create_all(connection, checkfirst=False)
    run(connection, *AFTER_TABLES)
    connection.execute(sa.text("SELECT hushgate_ensure_partitions(current_date, 3)"))


def run(connection: sa.Connection, *names: str) -> None:
    """Run files of SQL by name; a migration runs those again whose functions or rights changed."""
    schema = connection.execute(SCHEMA).scalar_one()
    for name in names:
        connection.exec_driver_sql(statements(name, schema), execution_options={"no_parameters": True})


def statements(name: str, schema: str) -> str:
    """The text of a file; ``schema`` is the quoted name of the schema."""
    text: str = FILES[name].read_text(encoding="utf-8")
    return text.replace("{schema}", schema)
