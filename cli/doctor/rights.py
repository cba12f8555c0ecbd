"""``hushgate doctor``: the rights of the login in DATABASE_URL, and the settings of its sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import psycopg

from cli.doctor.check import DoctorCheck, failed, warned
from cli.options import with_pool
from db.schema.rights import session_login
from db.sessions.settings import load_session_state
from worker.settings import Settings

SEPARATE: Final = "run hushgate migrate --create-logins; give workers and review pages the logins it creates"
BY_LOGIN: Final = (
    "behind a pooler the login has to set them: run hushgate migrate --create-logins and let the pooler use"
    " its logins, or ALTER ROLE ... SET (docs/scale.md)"
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
    yield failed("session settings", shown, BY_LOGIN, unless=not found.wrong)
    shown = f"{found.statement_timeout_ms / 1000:.0f} s" if found.statement_timeout_ms else "no limit"
    yield warned("statement timeout", shown, BY_LOGIN, unless=found.statement_timeout_ms > 0)


def unreadable_check(name: str, error: BaseException) -> DoctorCheck | None:
    """A warning when the login may not read what the check needs; None for other errors."""
    if not isinstance(error, psycopg.errors.InsufficientPrivilege):
        return None
    fix = "run hushgate doctor with the login of the review pages"
    return warned(name, f"not checked: {error.diag.message_primary}", fix)
