"""What ``hushgate doctor`` asks Postgres: its version, its clock, its migration, partition and role."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

import sqlalchemy as sa

from db import migrate
from db.pool import WORKER_ROLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitness:
    """The state of a database.

    Attributes:
        version: as people write it; ``version_number`` as Postgres counts, 150000 for 15.
        now: the server's clock.
        revision: the migration it is at, None when it is empty.
        partition: where decisions of this month go; ``has_partition`` whether it is there.
        is_worker: whether the login may work in the workers' role.
    """

    version: str
    version_number: int
    now: datetime
    revision: str | None
    partition: str
    has_partition: bool
    is_worker: bool


def fitness(url: str, today: date) -> Fitness:
    """Look once; a database without tables or roles has none of them and raises nothing.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: Postgres is not there.
    """
    partition = f"ai_decisions_{today:%Y_%m}"
    query = sa.text("""
        SELECT current_setting('server_version') AS version,
               current_setting('server_version_num')::int AS version_number,
               now() AS now,
               to_regclass(:partition) IS NOT NULL AS has_partition,
               coalesce((SELECT pg_has_role(current_user, oid, 'MEMBER')
                         FROM pg_roles WHERE rolname = :role), false) AS is_worker
    """)
    with migrate.engine(url).connect() as connection:
        row = connection.execute(query, {"partition": partition, "role": WORKER_ROLE}).mappings().one()
        return Fitness(partition=partition, revision=migrate.current(connection), **row)
