"""What Postgres promises of a commit: after a power failure, and after a failover to a standby."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg.rows import class_row

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
