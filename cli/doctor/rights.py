"""``hushgate doctor``: the login in DATABASE_URL, its sessions, and the replica for lists."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import psycopg

from cli.doctor.check import DoctorCheck, failed, passed, warned
from cli.options import with_pool
from db.audit.list_connection import load_lag
from db.health.fitness import fitness
from db.schema.rights import session_login
from db.sessions import read_replica
from db.sessions.settings import load_session_state
from worker.settings import Settings

SEPARATE: Final = "run hushgate migrate --create-logins; give workers and review pages the logins it creates"
BY_LOGIN: Final = (
    "behind a pooler the login has to set them: run hushgate migrate --create-logins and let the pooler use"
    " its logins, or ALTER ROLE ... SET (docs/scale.md)"
)
WRITABLE: Final = (
    "point DATABASE_URL at the primary, or set default_transaction_read_only off; nothing is decided yet"
)
REVOKE: Final = (
    "as the owner: hushgate migrate --create-logins, or REVOKE TEMPORARY ON DATABASE ... FROM PUBLIC"
)


def login_rights(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether the login has more rights than a service needs, and PUBLIC may create temporary tables."""
    found = with_pool(session_login, settings.database_url.get_secret_value())
    excess = ", ".join(found.excess)
    shown = f"{found.name}: {excess or 'no rights beyond its role'}"
    yield warned("database login", shown, SEPARATE, unless=not excess)
    shown = f"PUBLIC {'may' if found.public_temp else 'may not'} create them"
    yield warned("temporary tables", shown, REVOKE, unless=not found.public_temp)


def session_settings(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether sessions have the settings that statements need; services set them, but not behind a pooler."""
    found = with_pool(load_session_state, settings.database_url.get_secret_value())
    shown = (
        ", ".join(f"{name} = {value}" for name, value in found.wrong.items()) or "as the product sets them"
    )
    yield failed(
        "postgres writes", "read-only" if found.read_only else "on", WRITABLE, unless=not found.read_only
    )
    yield failed("session settings", shown, BY_LOGIN, unless=not found.wrong)
    shown = f"{found.statement_timeout_ms / 1000:.0f} s" if found.statement_timeout_ms else "no limit"
    yield warned("statement timeout", shown, BY_LOGIN, unless=found.statement_timeout_ms > 0)


def unreadable_check(name: str, error: BaseException) -> DoctorCheck | None:
    """A warning when the login may not read what the check needs; None for other errors."""
    if not isinstance(error, psycopg.errors.InsufficientPrivilege):
        return None
    fix = "run hushgate doctor with the login of the review pages"
    return warned(name, f"not checked: {error.diag.message_primary}", fix)


NAME = "read replica"
PRIMARY = "lists are read from the primary until then"


def replica_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether lists can be read from HUSHGATE_READ_DATABASE_URL."""
    if settings.read_database_url is None:
        return
    primary, replica = settings.database_url.get_secret_value(), settings.read_database_url.get_secret_value()
    today = datetime.now(UTC).date()
    revisions = [fitness(url, today).revision for url in (primary, replica)]
    found = asyncio.run(load_lag(primary, replica))
    if not found.recovering:
        fix = "point HUSHGATE_READ_DATABASE_URL at a streaming replica of DATABASE_URL"
        yield warned(NAME, "the server is no replica", fix)
    elif found.lag_s is None or found.lag_s > read_replica.MOST_LAG_S:
        lag = "no commit yet" if found.lag_s is None else f"{found.lag_s:.1f} s behind"
        yield warned(NAME, lag, f"look at pg_stat_replication of the primary; {PRIMARY}")
    elif revisions[0] != revisions[1]:
        shown = f"migrations {revisions[1] or 'none'}, the primary has {revisions[0] or 'none'}"
        yield warned(NAME, shown, "wait for the replica, or correct HUSHGATE_READ_DATABASE_URL")
    else:
        yield passed(NAME, f"{found.lag_s:.1f} s behind")
