"""The state of Postgres for ``hushgate doctor``: version, clock, migration, partition and role."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

import psycopg
from psycopg.rows import dict_row

from db.pool import WORKER_ROLE
from db.review_store import REVIEWER_ROLE

REVISION: Final = "SELECT version_num FROM alembic_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitness:
    """The state of a database.

    Attributes:
        version: such as 15.4; ``version_number`` is Postgres' number, 150000 for 15.
        revision: the current migration; None when the database is empty.
        partition: the name of this month's partition; ``has_partition`` whether it exists.
        role: which of our roles the login is a member of, the worker's first; None for neither.
    """

    version: str
    version_number: int
    now: datetime
    revision: str | None
    partition: str
    has_partition: bool
    role: str | None


def fitness(url: str, today: date) -> Fitness:
    """Read the state; a database without tables or roles raises nothing.

    Raises:
        psycopg.Error: Postgres is unreachable.
    """
    partition = f"ai_decisions_{today:%Y_%m}"
    query = """
        SELECT current_setting('server_version') AS version,
               current_setting('server_version_num')::int AS version_number,
               now() AS now,
               to_regclass(%(partition)s) IS NOT NULL AS has_partition,
               to_regclass('alembic_version') IS NOT NULL AS is_migrated,
               (SELECT name FROM unnest(%(roles)s::text[]) WITH ORDINALITY AS ours (name, place)
                JOIN pg_roles ON rolname = name WHERE pg_has_role(current_user, oid, 'MEMBER')
                ORDER BY place LIMIT 1) AS role
    """
    with psycopg.connect(url, connect_timeout=10, row_factory=dict_row) as connection:
        row = connection.execute(
            query, {"partition": partition, "roles": [WORKER_ROLE, REVIEWER_ROLE]}
        ).fetchone()
        assert row is not None  # a query without FROM gives a row
        migrated = row.pop("is_migrated") and connection.execute(REVISION).fetchone()
    return Fitness(partition=partition, revision=migrated["version_num"] if migrated else None, **row)
