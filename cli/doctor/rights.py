"""``hushgate doctor``: has the login in DATABASE_URL more rights than it needs?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

import psycopg
import sqlalchemy as sa

from cli.doctor.check import DoctorCheck, warned
from cli.options import own_connections
from db.rights import SessionLogin, session_login
from worker.settings import Settings

SEPARATE: Final = "run hushgate migrate --create-logins; give workers and review pages the logins it creates"
REVOKE: Final = (
    "as the owner: hushgate migrate --create-logins, or REVOKE TEMPORARY ON DATABASE ... FROM PUBLIC"
)


def login_rights(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether the login has more rights than a service needs, and PUBLIC may create temporary tables."""
    found = asyncio.run(_login(settings.database_url.get_secret_value()))
    excess = ", ".join(found.excess)
    shown = f"{found.name}: {excess or 'no rights beyond its role'}"
    yield warned("database login", shown, SEPARATE, unless=not excess)
    shown = f"PUBLIC {'may' if found.public_temp else 'may not'} create them"
    yield warned("temporary tables", shown, REVOKE, unless=not found.public_temp)


def unreadable_check(name: str, error: BaseException) -> DoctorCheck | None:
    """A warning when the login may not read what the check needs; None for other errors."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    if not isinstance(cause, psycopg.errors.InsufficientPrivilege):
        return None
    fix = "run hushgate doctor with the login of the review pages"
    return warned(name, f"not checked: {cause.diag.message_primary}", fix)


async def _login(url: str) -> SessionLogin:
    async with own_connections(url, application="hushgate-doctor") as source:
        return await session_login(source)
