"""The session settings that our statements depend on, and whether the server keeps what it confirms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg.rows import class_row
from psycopg.sql import SQL, Composed, Literal

from db.pool import Pool, fetch_rows
from db.sessions.prepared import SETTINGS

WRONG: Final = SQL("""
    SELECT s.name, s.setting || coalesce(s.unit, '') FROM (VALUES {wanted}) AS wanted (name, setting)
    JOIN pg_settings s ON s.name = wanted.name AND s.setting <> wanted.setting
    ORDER BY s.name
""")
"""Both in the unit of ``pg_settings``."""
OWN: Final = """
    SELECT setting::integer, current_setting('default_transaction_read_only')::boolean OR pg_is_in_recovery()
    FROM pg_settings WHERE name = 'statement_timeout'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """The settings of a session as services have them.

    Attributes:
        wrong: name -> value of those that differ from what statements need.
        statement_timeout_ms: 0 without a limit.
        read_only: nothing can be stored, as on a standby.
    """

    wrong: Mapping[str, str]
    statement_timeout_ms: int
    read_only: bool


async def load_session_state(source: Pool) -> SessionState:
    """The settings of the pool's sessions; raises ``StorageUnavailable``."""
    ((limit_ms, read_only),) = await fetch_rows(source, OWN)
    wrong = {str(name): str(value) for name, value in await fetch_rows(source, _wrong().as_string())}
    return SessionState(wrong=wrong, statement_timeout_ms=limit_ms, read_only=read_only)


def _wrong() -> Composed:
    pairs = [SQL("({}, {})").format(Literal(name), Literal(value)) for name, value in SETTINGS.items()]
    return WRONG.format(wanted=SQL(", ").join(pairs))


QUERY: Final = """
    SELECT current_setting('fsync') = 'on' AS fsync,
        current_setting('full_page_writes') = 'on' AS full_page_writes,
        current_setting('synchronous_commit') AS synchronous_commit,
        current_setting('synchronous_standby_names') AS standby_names,
        (SELECT count(*) FROM pg_stat_replication) AS standbys
"""
TO_STANDBY: Final = frozenset({"on", "remote_write", "remote_apply"})
"""Values of ``synchronous_commit`` with which a commit waits for a standby that is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Durability:
    """The settings of this login's sessions; ``standbys`` counts connected receivers, also of backups."""

    fsync: bool
    full_page_writes: bool
    synchronous_commit: str
    standby_names: str
    standbys: int

    @property
    def survives_power_failure(self) -> bool:
        """Whether a commit is on the disk before it is answered."""
        return self.fsync and self.full_page_writes and self.synchronous_commit != "off"

    @property
    def survives_failover(self) -> bool:
        """Whether a standby has a commit before it is answered."""
        return bool(self.standby_names) and self.synchronous_commit in TO_STANDBY


def load_durability(url: str) -> Durability:
    """The settings of Postgres.

    Raises:
        psycopg.Error: Postgres is unreachable.
    """
    with psycopg.connect(url, connect_timeout=10) as connection:
        found = connection.cursor(row_factory=class_row(Durability)).execute(QUERY).fetchone()
    assert found is not None  # a query without FROM gives a row
    return found
