"""Connections whose caller was cancelled: what is stored on them afterwards is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import psycopg
import pytest

from db.connection import round_of_reads
from db.pool import Pool, checkout, create_pool
from db.rows import first_value
from worker.cancellation import cancel_all

STEPS = 60
"""A call is cancelled after each number of turns of the event loop below this."""


async def reads(source: Pool) -> None:
    """Two reads in one round trip."""
    async with checkout(source) as connection, round_of_reads(connection) as together:
        for _ in range(2):
            together.read(first_value(connection, "SELECT 1"))


async def inserts(source: Pool) -> None:
    """Several rows by one statement, which psycopg sends as a pipeline."""
    async with checkout(source) as connection, connection.cursor() as cursor:
        await cursor.executemany("SELECT %s", [(1,), (2,)])


@pytest.mark.parametrize("call", [reads, inserts])
async def test_a_cancelled_call_leaves_no_open_pipeline(
    call: Callable[[Pool], Awaitable[None]],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cancelled at any step, also those that psycopg adds on a busy event loop."""
    monkeypatch.setattr("psycopg.waiting.MAX_BUSY_TIME", 0)
    missing = []
    async with create_pool(database_url, size=1, application="test", role=None) as source:
        async with checkout(source) as connection:
            await connection.execute("CREATE TABLE IF NOT EXISTS stored (step int); TRUNCATE stored")
        for step in range(STEPS):
            task = asyncio.ensure_future(call(source))
            for _ in range(step):
                await asyncio.sleep(0)
            await cancel_all([task])
            async with checkout(source) as connection:
                returned = await connection.execute("INSERT INTO stored VALUES (%s) RETURNING step", (step,))
                await returned.fetchall()
            with psycopg.connect(database_url) as other:
                if not other.execute("SELECT FROM stored WHERE step = %s", (step,)).fetchall():
                    missing.append(step)

    assert missing == []
