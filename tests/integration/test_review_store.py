"""The review pages' connections when Postgres goes away and comes back."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import psycopg
import pytest
import sqlalchemy as sa

from db.review_store import Store

OTHERS = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'hushgate-review' AND pid <> pg_backend_pid()
"""
READ_ONLY = sa.text("SELECT current_setting('transaction_read_only') || ' ' || current_user")


def test_connections_that_postgres_closed_are_replaced_unnoticed(database_url: str) -> None:
    """After a restart of Postgres the very next page is answered, by new connections."""

    async def story() -> list[str]:
        async with Store(database_url) as store:
            async with store.reading(), store.single():
                pass
            with psycopg.connect(database_url, autocommit=True) as owner:
                closed = owner.execute(OTHERS).fetchone()
            assert closed is not None
            assert closed[0] >= 2
            await asyncio.to_thread(_gone, database_url)
            async with store.reading() as one, store.single() as other:
                return [str((await each.execute(READ_ONLY)).scalar()) for each in (one, other)]

    assert asyncio.run(story()) == ["on hushgate_reviewer", "off hushgate_reviewer"]


def test_a_single_statement_is_stored_at_once_and_a_reader_stores_nothing(database_url: str) -> None:
    """What one checkout sets does not stick to the connection that the next one gets."""

    async def story() -> str:
        async with Store(database_url, size=1) as store:
            async with store.single() as connection:
                await connection.execute(sa.text("INSERT INTO access_log (action) VALUES ('list')"))
            async with store.reading() as connection:
                with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="read-only"):
                    await connection.execute(sa.text("INSERT INTO access_log (action) VALUES ('list')"))
            with suppress(LookupError):
                async with store.writing() as connection:
                    await connection.execute(sa.text("INSERT INTO access_log (action) VALUES ('list')"))
                    raise LookupError
            async with store.reading() as connection:
                return str((await connection.execute(sa.text("SELECT count(*) FROM access_log"))).scalar())

    assert asyncio.run(story()) == "1"


def _gone(url: str) -> None:
    """Wait until the server has none of the review pages' connections left."""
    with psycopg.connect(url, autocommit=True) as owner:
        while owner.execute(OTHERS).fetchone() != (0,):
            pass
