"""``hushgate doctor``: does the replica for lists answer, and how far is it behind?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

from cli.doctor.check import DoctorCheck, passed, warned
from db.audit.list_connection import load_lag
from db.health.fitness import fitness
from db.sessions import read_replica
from worker.settings import Settings

NAME = "read replica"
PRIMARY = "lists are read from the primary until then"


def replica_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether lists can be read from HUSHGATE_READ_DATABASE_URL."""
    if settings.read_database_url is None:
        return
    primary, replica = settings.database_url.get_secret_value(), settings.read_database_url.get_secret_value()
    today = datetime.now(UTC).date()
    revisions = [fitness(url, today).revision for url in (primary, replica)]
    found = asyncio.run(load_lag(primary, replica))
    if not found.recovering:
        fix = "point HUSHGATE_READ_DATABASE_URL at a streaming replica of DATABASE_URL"
        yield warned(NAME, "the server is no replica", fix)
    elif found.lag_s is None or found.lag_s > read_replica.MOST_LAG_S:
        lag = "no commit yet" if found.lag_s is None else f"{found.lag_s:.1f} s behind"
        yield warned(NAME, lag, f"look at pg_stat_replication of the primary; {PRIMARY}")
    elif revisions[0] != revisions[1]:
        shown = f"migrations {revisions[1] or 'none'}, the primary has {revisions[0] or 'none'}"
        yield warned(NAME, shown, "wait for the replica, or correct HUSHGATE_READ_DATABASE_URL")
    else:
        yield passed(NAME, f"{found.lag_s:.1f} s behind")
