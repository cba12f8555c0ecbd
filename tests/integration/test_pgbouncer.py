"""Workers and review pages through PgBouncer in transaction mode, with fewer connections than clients."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from urllib.parse import urlsplit

import psycopg
import pytest
import sqlalchemy as sa

from db.audit.decision_list import read_connection
from db.connection import Connection
from db.health.start import require_database
from db.pool import create_pool, fetch_value
from db.review_store import Store
from db.schema import migrate
from db.sessions.pooler import require_session
from sandbox.server import SandboxHandle
from tests.support.pgbouncer import pooled
from tests.support.running import eventually, running
from worker.errors import ConfigurationError

SIZE = 3
STATE = "SELECT current_setting('role'), current_setting('statement_timeout'), current_setting('TimeZone')"


@pytest.fixture(scope="module")
def pooled_url(database_url: str) -> Iterator[str]:
    """The module's database behind a pooler."""
    with pooled(database_url, size=SIZE) as url:
        yield url


def test_events_are_decided_through_a_pooler(
    pooled_url: str, database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Every event is decided and replied to, with more clients than server connections."""
    with running(database_url, redis_url, sandbox, DATABASE_URL=pooled_url, HUSHGATE_DB_POOL="8") as worker:
        user_id = worker.account(documents={"Hours": ["We are open from nine to six."]})
        events = [worker.publish(user_id, "When are you open?") for _ in range(30)]
        reasons = {worker.decided(user_id, event_id)["reason_code"] for event_id in events}

    assert reasons == {"REPLIED"}


def test_a_pooler_that_restarts_loses_no_event(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Events that came before, while it was away and after are each decided and answered once."""
    with ExitStack() as second, ExitStack() as first:
        url = first.enter_context(pooled(database_url, size=SIZE))
        with running(database_url, redis_url, sandbox, DATABASE_URL=url) as worker:
            user_id = worker.account(documents={"Hours": ["We are open from nine to six."]})
            events = [worker.publish(user_id, "When are you open?") for _ in range(10)]
            first.close()
            events += [worker.publish(user_id, "When are you open?") for _ in range(10)]
            second.enter_context(pooled(database_url, size=SIZE, port=urlsplit(url).port))
            reasons = [worker.decided(user_id, event_id)["reason_code"] for event_id in events]
            answered = [eventually(partial(worker.reply, user_id, each), "a reply") for each in events]

    assert reasons == ["REPLIED"] * 20
    assert {each["event_id"] for each in answered} == set(events)


async def test_clients_leave_no_state_in_shared_sessions(pooled_url: str) -> None:
    """No role, time limit, time zone or read-only mode of one client is found by another."""
    with psycopg.connect(pooled_url, autocommit=True, prepare_threshold=None) as plain:
        before = plain.execute(STATE).fetchone()
    async with create_pool(pooled_url, size=SIZE, application="test") as source, Store(pooled_url) as store:
        for _ in range(12):  # psycopg prepares a statement at its sixth run
            await asyncio.gather(*(fetch_value(source, "SELECT 1") for _ in range(SIZE)))
            async with store.reading() as connection:
                await connection.execute(sa.text("SELECT 1"))
    async with read_connection(pooled_url) as connection:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="read-only"):
            await connection.execute(sa.text("DELETE FROM outbox"))

    for _ in range(2 * SIZE):
        with psycopg.connect(pooled_url, autocommit=True, prepare_threshold=None) as plain:
            assert plain.execute(STATE).fetchone() == before
            assert plain.execute("SHOW default_transaction_read_only").fetchone() == ("off",)
            assert plain.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)


def test_a_pooler_that_does_not_work_ends_a_process_with_its_fix(pooled_url: str, database_url: str) -> None:
    """A wrong mode, and a parameter that a pooler refuses; the process would wait for ever."""
    with (
        pooled(database_url, size=1, mode="statement") as url,
        pytest.raises(ConfigurationError, match="set pool_mode of the pooler to transaction"),
    ):
        require_database(url, role=None)
    with pytest.raises(ConfigurationError, match="remove it from the address"):
        require_database(f"{pooled_url}?options=-csearch_path%3Dpublic", role=None)
    assert require_database(pooled_url, role=None) == ""


async def test_work_that_needs_one_session_is_refused(pooled_url: str, database_url: str) -> None:
    """Migrations and re-embedding hold a lock of their session: they name the pooler as the cause."""
    with pytest.raises(ConfigurationError, match="migrations need Postgres itself"):
        migrate.upgrade(pooled_url)
    async with await Connection.connect(pooled_url) as connection:
        with pytest.raises(ConfigurationError, match="re-embedding needs Postgres itself"):
            await require_session(connection, "re-embedding")
    async with await Connection.connect(database_url) as connection:
        await require_session(connection, "re-embedding")
