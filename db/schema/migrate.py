"""Create a database or migrate it to the newest revision, and read its revision."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from psycopg.errors import InsufficientPrivilege, LockNotAvailable
from sqlalchemy.exc import OperationalError

from db.columns import metadata
from db.schema import baseline
from db.sessions.pooler import BACKEND
from worker.errors import ConfigurationError

LOCK: Final = 0x48555348  # "HUSH": one migration at a time per database
LOCK_WAIT: Final = "1s"
"""How long a migration waits for the lock of a table; statements behind the migration wait as long."""
OLDEST: Final = 150_000
"""The number of Postgres 15, whose NULLS NOT DISTINCT and views with the rights of their reader are used."""
UNRELEASED: Final = "expected a database of a release, or an empty one, got one of an unreleased version"
GRANT_PARAMETERS: Final = "GRANT SET ON PARAMETER hushgate.erasing, hushgate.sweeping TO the owner's login"
BY_SUPERUSER: Final = {
    "hushgate.erasing": GRANT_PARAMETERS,
    "hushgate.sweeping": GRANT_PARAMETERS,
    "vector": "CREATE EXTENSION vector",
}
"""What Postgres refuses to an owner who is no superuser -> what allows it."""
TRIES: Final = 60
PAUSE_S: Final = 2.0


def engine(url: str) -> sa.Engine:
    """A synchronous engine, because Alembic supports no other."""
    scheme, separator, rest = url.partition("://")
    with_driver = f"postgresql+psycopg{separator}{rest}" if scheme in ("postgres", "postgresql") else url
    return sa.create_engine(
        with_driver,
        poolclass=sa.NullPool,
        isolation_level="READ COMMITTED",
        connect_args={"connect_timeout": 10},
    )


def upgrade(url: str) -> tuple[str | None, str]:
    """Create an empty database or apply missing migrations; the revisions before and after.

    Each migration is one transaction. A migration that cannot lock a table is tried again for some minutes.

    Raises:
        ConfigurationError: no Postgres or one older than 15, a database that is newer, of an unreleased
            version, not in UTF-8 or behind a pooler, a transaction keeps a table locked, or the login may
            not set the parameters of our functions.
        psycopg.Error: Postgres is unreachable, or refused a statement.
    """
    try:
        return _upgrade(url)
    except sa.exc.DBAPIError as error:
        if not isinstance(error.orig, psycopg.Error):
            raise
        if isinstance(error.orig, InsufficientPrivilege):
            message = error.orig.diag.message_primary or ""
            if remedy := by_superuser(message):
                raise ConfigurationError(
                    f"DATABASE_URL: expected a superuser, got: {message}{remedy}"
                ) from error
        raise error.orig from error


def by_superuser(refusal: str) -> str:
    """What allows an owner what Postgres refused, as the end of a message; empty for other refusals."""
    found = (each for name, each in BY_SUPERUSER.items() if f'"{name}"' in refusal)
    return "".join(f"; or run once as a superuser in this database: {each}" for each in found)


def _upgrade(url: str) -> tuple[str | None, str]:
    opened = engine(url)
    # before SQLAlchemy reads the version, whose words it does not know
    sa.event.listen(opened, "connect", lambda driver, _: _require_postgres(driver.info), insert=True)
    with opened.connect() as connection:
        driver: Any = connection.connection.driver_connection
        if connection.scalar(sa.text(BACKEND)) != driver.info.backend_pid:
            raise ConfigurationError("DATABASE_URL: migrations need Postgres itself, got a pooler in between")
        _require_usable(driver.info)
        connection.execute(sa.text("SELECT pg_advisory_lock(:lock)"), {"lock": LOCK})
        connection.commit()
        before = current(connection)
        connection.commit()
        with _short_waits(connection):
            _apply(connection)
            if missing := missing_columns(connection):
                raise ConfigurationError(f"DATABASE_URL: {UNRELEASED}: it lacks {', '.join(missing[:3])}")
            with connection.begin():
                baseline.run(connection, "vectors")
        connection.execute(sa.text("SELECT pg_advisory_unlock(:lock)"), {"lock": LOCK})
    return before, head()


def missing_columns(connection: sa.Connection) -> list[str]:
    """Declared columns that the database lacks: an unreleased version with the same revision made it."""
    found = sa.inspect(connection).get_multi_columns()
    connection.rollback()
    columns = {(table, column["name"]) for (_, table), each in found.items() for column in each}
    declared = (column for table in metadata.sorted_tables for column in table.columns)
    return [str(each) for each in declared if (each.table.name, each.name) not in columns]


def _require_postgres(server: psycopg.ConnectionInfo) -> None:
    if other := server.parameter_status("crdb_version"):
        raise ConfigurationError(f"DATABASE_URL: expected Postgres, got {other}")


def _require_usable(server: psycopg.ConnectionInfo) -> None:
    if (version := server.server_version) < OLDEST:
        wanted = f"expected Postgres {OLDEST // 10_000} or later"
        raise ConfigurationError(f"DATABASE_URL: {wanted}, got {version // 10_000}")
    if (encoding := server.parameter_status("server_encoding")) != "UTF8":
        raise ConfigurationError(
            f"DATABASE_URL: expected a database in UTF-8, got {encoding}; create it with"
            " CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0"
        )


def _apply(connection: sa.Connection) -> None:
    for left in reversed(range(TRIES)):
        try:
            empty = current(connection) is None
            connection.rollback()  # else Alembic takes part in our transaction, with all migrations at once
            if empty:
                _create(connection)
            command.upgrade(_config(connection), "head")
        except CommandError as error:
            raise ConfigurationError(
                f"migrations: {error}; is the database newer than this release?"
            ) from error
        except OperationalError as error:
            connection.rollback()
            if not isinstance(error.orig, LockNotAvailable):
                raise
            if not left:
                raise ConfigurationError(
                    "migrations: a long transaction keeps a table locked; end it (pg_stat_activity) and"
                    " migrate again, what was applied stays"
                ) from error
            time.sleep(PAUSE_S)
        else:
            connection.commit()
            return


def _create(connection: sa.Connection) -> None:
    """Make a new database, which has the newest revision at once."""
    with connection.begin():
        MigrationContext.configure(connection).stamp(_scripts(), "head")
        baseline.create(connection)


@contextmanager
def _short_waits(connection: sa.Connection) -> Iterator[None]:
    """Limit how long transactions wait for locks; not CREATE INDEX CONCURRENTLY, which blocks none."""

    def limit(begun: sa.Connection) -> None:
        driver: Any = begun.connection.driver_connection
        if not driver.autocommit:
            begun.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")

    sa.event.listen(connection, "begin", limit)
    try:
        yield
    finally:
        sa.event.remove(connection, "begin", limit)


def current(connection: sa.Connection) -> str | None:
    """The revision of a database; None when it is empty."""
    return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """The newest revision of this release."""
    revision = _scripts().get_current_head()
    assert revision is not None  # the folder is part of the package
    return revision


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config(None))


def _config(connection: sa.Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(resources.files("db") / "migrations"))
    config.attributes["connection"] = connection
    return config
