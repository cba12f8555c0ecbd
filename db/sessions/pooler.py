"""Whether a pooler such as PgBouncer gives each transaction of a connection another session."""

from __future__ import annotations

from typing import Any, Final

from worker.errors import ConfigurationError

BACKEND: Final = "SELECT pg_backend_pid()"


async def through_pooler(connection: Any) -> bool:
    """Whether a pooler answers: the client then has another process id than the server's.

    Session state is then shared with other clients: what one sets, another one has. Time limit and time zone
    are settings of the login, as ``hushgate migrate --create-logins`` makes them; its rights are all that a
    connection has. Prepared statements are switched off for the connection.
    """
    row = await (await connection.execute(BACKEND)).fetchone()
    if row[0] == connection.info.backend_pid:
        return False
    connection.prepare_threshold = None
    return True


async def require_session(connection: Any, work: str) -> None:
    """Refuse work that needs one session from beginning to end.

    Raises:
        ConfigurationError: the connection goes through a pooler.
    """
    if await through_pooler(connection):
        raise ConfigurationError(f"DATABASE_URL: {work} needs Postgres itself, got a pooler in between")
