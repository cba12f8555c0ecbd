"""Defaults of the server, of a database or of a login change nothing that statements depend on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from redis.asyncio import Redis

from cli.doctor.rights import session_settings
from db import outbox
from db.commits.record import record_decision
from db.connection import Connection
from db.history.conversation_owners import take_conversation
from db.outgoing.locked_batch import begun
from db.pool import Pool, create_pool
from db.review_store import Store
from db.rows import Values
from db.schema import logins
from db.schema.logins import LOGINS, Service
from sandbox.server import SandboxHandle
from tasks.sending.relay import Relay
from tasks.sending.replies import REPLY_ROWS
from tests.support.decided import CLOCK, reply_to, takeover
from tests.support.pgbouncer import pooled
from tests.support.running import settings_of
from tests.support.samples import event

REPLIES = "test:replies"
PAUSE_S = 0.3
DEFAULTS = {
    "default_transaction_isolation": "repeatable read",
    "lock_timeout": "1ms",
    "idle_in_transaction_session_timeout": "3s",
    "TimeZone": "Pacific/Apia",
    "DateStyle": "SQL, DMY",
}


@contextmanager
def defaults(url: str) -> Iterator[None]:
    """A database with other defaults."""
    with psycopg.connect(url, autocommit=True) as owner:
        name = owner.info.dbname
        for setting, value in DEFAULTS.items():
            owner.execute(f"ALTER DATABASE {name} SET {setting} = '{value}'")
        try:
            yield
        finally:
            owner.execute(f"ALTER DATABASE {name} RESET ALL")


@pytest.fixture(params=["direct", "pooler"])
def service_url(request: pytest.FixtureRequest, database_url: str) -> Iterator[str]:
    """The database with other defaults, as a worker's login, with and without a pooler in between."""
    logins.ensure(database_url, {})
    with defaults(database_url):
        url = logins.url_of(database_url, LOGINS[Service.WORKER], "unused")
        if request.param == "direct":
            yield url
            return
        with pooled(url, size=4) as behind:
            yield behind


async def test_a_takeover_after_the_relay_began_is_seen(
    service_url: str, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People take the conversation between the first and the second statement of the relay's transaction."""
    now = CLOCK.now()
    asked = event(event_id="asked", conversation_id="raced", created_at=now, received_at=now)
    async with create_pool(service_url, size=2, application="test") as source:
        await record_decision(source, reply_to(asked))

        async def taken() -> None:
            await asyncio.sleep(PAUSE_S / 3)
            await take_conversation(source, takeover(asked), CLOCK.now())

        async def begun_slowly(
            connection: Connection, lock: str, *reads: str, values: Values | None = None
        ) -> list[list[dict[str, Any]]] | None:
            pause = f"SELECT pg_sleep({PAUSE_S})"
            found, _ = await asyncio.gather(begun(connection, lock, pause, *reads, values=values), taken())
            return found and found[1:]

        monkeypatch.setattr(outbox, "begun", begun_slowly)
        await Relay(REPLY_ROWS, source, redis, stream=REPLIES, now=CLOCK.now).send_all()

    assert await redis.xlen(REPLIES) == 0


def test_doctor_accepts_a_service_login_and_refuses_another_behind_a_pooler(
    database_url: str, redis_url: str, sandbox: SandboxHandle, service_url: str
) -> None:
    """Another login has the server's defaults there, which its sessions cannot change."""
    with pooled(database_url, size=2) as own:
        made, other = [
            {check.check: check for check in session_settings(settings_of(url, redis_url, sandbox))}
            for url in (service_url, own)
        ]
    found = other["session settings"]

    assert {check.state for check in made.values()} == {"ok"}
    assert found.state == "fail"
    assert "default_transaction_isolation = repeatable read" in found.found
    assert other["statement timeout"].state == "warn"


@pytest.mark.parametrize(("value", "state"), [("on", "fail"), ("off", "ok")])
def test_doctor_names_a_database_that_stores_nothing(
    database_url: str, redis_url: str, sandbox: SandboxHandle, value: str, state: str
) -> None:
    """As on a standby, or after a disk was full."""
    with psycopg.connect(database_url, autocommit=True) as owner:
        name = owner.info.dbname
        owner.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {value}".encode())
    checks = list(session_settings(settings_of(database_url, redis_url, sandbox)))
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("SET default_transaction_read_only = off")
        owner.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())

    assert {each.check: each.state for each in checks}["postgres writes"] == state


async def test_pages_and_workers_have_the_same_settings(database_url: str) -> None:
    """In a database with other defaults, a page's session is as a worker's."""
    names = [name for name in DEFAULTS if name != "default_transaction_isolation"]
    query = "SELECT " + ", ".join(f"current_setting('{name}')" for name in names)
    with defaults(database_url):
        async with create_pool(database_url, size=1, application="test") as source:
            worker = await _row(source, query)
        async with Store(database_url) as store, store.writing() as connection:
            page = await (await connection.execute(query)).fetchone()
            isolation = await (await connection.execute("SHOW transaction_isolation")).fetchone()

    assert page == worker == ("0", "10min", "UTC", "ISO, MDY")
    assert isolation == ("read committed",)


async def _row(source: Pool, query: str) -> tuple[Any, ...]:
    async with source.connection() as connection:
        row = await (await connection.execute(query)).fetchone()
    assert row is not None
    return row
