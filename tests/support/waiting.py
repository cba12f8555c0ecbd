"""Waits for locks of Postgres, for tests of what happens at once."""

from __future__ import annotations

import asyncio

import psycopg

from tests.support.running import eventually

WAITING = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


async def waiting_for_locks(database_url: str, number: int) -> None:
    """Return when so many sessions of the database wait for a lock."""
    with psycopg.connect(database_url, autocommit=True) as looking:

        def are_there() -> bool:
            return looking.execute(WAITING).fetchone() == (number,)

        await asyncio.to_thread(eventually, are_there, f"{number} sessions that wait")
