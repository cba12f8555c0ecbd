"""The rights of a login beyond its role."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import structlog

from db.pool import Pool, fetch_dicts
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

RETRY_S: Final = 1.0

LOGIN_RIGHTS: Final = """
    SELECT session_user AS name, r.rolsuper AS superuser, r.rolcreaterole AS creates_roles,
           coalesce(pg_has_role(session_user, c.relowner, 'MEMBER'), false) AS owner,
           has_database_privilege('public', current_database(), 'TEMP') AS public_temp
    FROM pg_roles r LEFT JOIN pg_class c ON c.oid = to_regclass('ai_decisions')
    WHERE r.rolname = session_user
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLogin:
    """The login of a session, before ``SET ROLE``.

    Attributes:
        excess: rights that no service needs; logins of `hushgate migrate --create-logins` have none.
        public_temp: True when every login may create temporary tables in this database.
    """

    name: str
    excess: tuple[str, ...]
    public_temp: bool


async def session_login(source: Pool) -> SessionLogin:
    """The login of this pool's connections; raises ``StorageUnavailable``: Postgres is unreachable."""
    (row,) = await fetch_dicts(source, LOGIN_RIGHTS)
    rights = {
        "superuser": row["superuser"],
        "owner of ai_decisions": row["owner"],
        "may create roles": row["creates_roles"],
    }
    return SessionLogin(
        name=row["name"],
        excess=tuple(words for words, has in rights.items() if has),
        public_temp=row["public_temp"],
    )


async def warn_of_excess(source: Pool) -> None:
    """Warn when the login has more rights than its service needs; once, as soon as Postgres answers."""
    while True:
        try:
            login = await session_login(source)
        except StorageUnavailable:
            await asyncio.sleep(RETRY_S)
            continue
        if login.excess:
            log.warning("login_has_owner_rights", login=login.name, rights=list(login.excess))
        return
