"""The session settings that our statements depend on, whatever the server's defaults are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from psycopg.sql import SQL, Composed, Literal

from db.pool import Pool, fetch_rows
from db.sessions.prepared import SETTINGS

WRONG: Final = SQL("""
    SELECT s.name, s.setting || coalesce(s.unit, '') FROM (VALUES {wanted}) AS wanted (name, setting)
    JOIN pg_settings s ON s.name = wanted.name AND s.setting <> wanted.setting
    ORDER BY s.name
""")
"""Both in the unit of ``pg_settings``."""
LIMIT: Final = "SELECT setting::integer FROM pg_settings WHERE name = 'statement_timeout'"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """The settings of a session as services have them.

    Attributes:
        wrong: name -> value of those that differ from what statements need.
        statement_timeout_ms: 0 without a limit.
    """

    wrong: Mapping[str, str]
    statement_timeout_ms: int


async def load_session_state(source: Pool) -> SessionState:
    """The settings of the pool's sessions; raises ``StorageUnavailable``."""
    ((limit_ms,),) = await fetch_rows(source, LIMIT)
    wrong = {str(name): str(value) for name, value in await fetch_rows(source, _wrong().as_string())}
    return SessionState(wrong=wrong, statement_timeout_ms=limit_ms)


def _wrong() -> Composed:
    pairs = [SQL("({}, {})").format(Literal(name), Literal(value)) for name, value in SETTINGS.items()]
    return WRONG.format(wanted=SQL(", ").join(pairs))
