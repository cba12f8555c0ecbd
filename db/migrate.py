"""Migrate a database to the newest revision, and read its revision."""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from db.sessions.pooler import BACKEND
from worker.errors import ConfigurationError

LOCK: Final = 0x48555348  # "HUSH": one migration at a time per database


def engine(url: str) -> sa.Engine:
    """A synchronous engine, because Alembic supports no other."""
    return sa.create_engine(driver_url(url), poolclass=sa.NullPool, connect_args={"connect_timeout": 10})


def driver_url(url: str) -> str:
    """The URL with the name of our driver, as SQLAlchemy requires it."""
    scheme, separator, rest = url.partition("://")
    return f"postgresql+psycopg{separator}{rest}" if scheme in ("postgres", "postgresql") else url


def upgrade(url: str) -> tuple[str | None, str]:
    """Apply missing migrations; the revisions before and after."""
    with engine(url).connect() as connection:
        driver: Any = connection.connection.driver_connection
        if connection.scalar(sa.text(BACKEND)) != driver.info.backend_pid:
            raise ConfigurationError("DATABASE_URL: migrations need Postgres itself, got a pooler in between")
        connection.execute(sa.text("SELECT pg_advisory_lock(:lock)"), {"lock": LOCK})
        connection.commit()
        before = current(connection)
        connection.commit()
        try:
            command.upgrade(_config(connection), "head")
        except CommandError as error:
            raise ConfigurationError(
                f"migrations: {error}; is the database newer than this release?"
            ) from error
        connection.commit()
        connection.execute(sa.text("SELECT pg_advisory_unlock(:lock)"), {"lock": LOCK})
    return before, head()


def current(connection: sa.Connection) -> str | None:
    """The revision of a database; None when it is empty."""
    return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """The newest revision of this release."""
    revision = ScriptDirectory.from_config(_config(None)).get_current_head()
    assert revision is not None  # the folder is part of the package
    return revision


def _config(connection: sa.Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(resources.files("db") / "migrations"))
    config.attributes["connection"] = connection
    return config
