"""Retention limits: how long the owner of the database keeps each table, below which no sweep goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import psycopg

from db.pool import Pool, fetch_rows
from db.retention.declared import RETENTION
from worker.settings.retention import RetentionSettings

LATEST: Final = """
    SELECT DISTINCT ON (table_name) table_name, keep_days FROM retention_limits
    ORDER BY table_name, created_at DESC, id DESC
"""
STORE: Final = "INSERT INTO retention_limits (id, table_name, keep_days) VALUES (gen_random_uuid(), %s, %s)"


def store_limits(url: str, settings: RetentionSettings) -> dict[str, int | None]:
    """Store the limits that differ from those in force; which, in days, None for ever.

    Args:
        url: of a migrated database, with the login of its owner.
        settings: how long each table is kept.

    Raises:
        psycopg.Error: Postgres is unreachable, or the login is another one.
    """
    wanted = {each.table: each.keep_days(settings) for each in RETENTION if each.has_limit}
    with psycopg.connect(url, connect_timeout=10) as connection:
        known: dict[str, int | None] = dict(connection.execute(LATEST).fetchall())
        changed = {name: days for name, days in wanted.items() if name not in known or known[name] != days}
        for name, days in changed.items():
            connection.execute(STORE, (name, days))
    return changed


async def load_limits(source: Pool) -> Mapping[str, int | None]:
    """The limits in force, in days by table; None: for ever. A table without one is missing."""
    return dict(await fetch_rows(source, LATEST))
