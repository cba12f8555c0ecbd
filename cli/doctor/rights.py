"""``hushgate doctor``: has the login in DATABASE_URL more rights than it needs?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

import psycopg
import sqlalchemy as sa

from cli.doctor.check import DoctorCheck
from db.pool import check_reachable, create_pool
from db.rights import SessionLogin, session_login
from worker.settings import Settings

SEPARATE: Final = "run hushgate migrate --create-logins; give workers and review pages the logins it creates"


def login_rights(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether the login has more rights than a service needs, and PUBLIC may create temporary tables."""
    found = asyncio.run(_look(settings.database_url.get_secret_value()))
    excess = ", ".join(found.excess)
    yield DoctorCheck(
        check="database login",
        state="warn" if excess else "ok",
        found=f"{found.name}: {excess or 'no rights beyond its role'}",
        fix=SEPARATE if excess else "",
    )
    yield DoctorCheck(
        check="temporary tables",
        state="warn" if found.public_temp else "ok",
        found=f"PUBLIC {'may' if found.public_temp else 'may not'} create them",
        fix="as the owner: hushgate migrate --create-logins, or REVOKE TEMPORARY ON DATABASE ... FROM PUBLIC"
        if found.public_temp
        else "",
    )


def unreadable_check(name: str, error: BaseException) -> DoctorCheck | None:
    """A warning when the login may not read what the check needs; None for other errors."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    if not isinstance(cause, psycopg.errors.InsufficientPrivilege):
        return None
    return DoctorCheck(
        check=name,
        state="warn",
        found=f"not checked: {cause.diag.message_primary}",
        fix="run hushgate doctor with the login of the review pages",
    )


async def _look(url: str) -> SessionLogin:
    await check_reachable(url)
    async with create_pool(url, size=1, application="hushgate-doctor", role=None) as source:
        return await session_login(source)
