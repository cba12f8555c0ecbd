"""Postgres that answers but refuses writes: no event is buried, no model is called, one line reports it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import structlog
from psycopg.sql import SQL, Identifier
from redis import Redis

from db.health.database_clock import DatabaseClock
from db.pool import Pool, checkout, create_pool
from sandbox.server import SandboxHandle
from tasks.entries import storage
from tasks.publishing.publish import publish
from tests.support.running import Running, eventually, running
from tests.support.samples import body_of
from worker.errors import StorageUnavailable

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"
REFUSAL = """
    CREATE OR REPLACE FUNCTION refusal() RETURNS trigger LANGUAGE plpgsql AS $f$
    BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '{code}'; END $f$;
    CREATE TRIGGER refusal BEFORE INSERT ON ai_decisions
        FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refusal()
"""


@pytest.fixture
def engine(url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A fresh engine."""
    with running(url, redis_url, sandbox) as each:
        yield each


@contextmanager
def read_only(database: psycopg.Connection[Any]) -> Iterator[None]:
    """Every session of the server may read and not write, as on a standby after a failover."""
    database.execute("SET default_transaction_read_only = off")
    database.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    database.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        database.execute("ALTER SYSTEM RESET default_transaction_read_only")
        database.execute("SELECT pg_reload_conf()")


def refuse(url: str, code: str, when: str) -> None:
    """Have Postgres refuse decisions with an SQLSTATE."""
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(REFUSAL.format(code=code, when=when).encode())


def letters(engine: Running) -> list[dict[str, Any]]:
    """All dead letters."""
    return engine.rows("SELECT * FROM dead_letters")


def test_a_long_lock_under_a_transaction_timeout_buries_nothing(
    url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Postgres ends every commit that waits; all of them are stored when the lock is gone."""
    with psycopg.connect(url, autocommit=True) as owner:
        name = Identifier(owner.info.dbname)
        owner.execute(SQL("ALTER DATABASE {} SET transaction_timeout = '300ms'").format(name))
    with running(url, redis_url, sandbox) as engine:
        engine.database.execute("SET transaction_timeout = 0")
        user_id = engine.account(documents=HOURS)
        engine.decide(user_id, QUESTION)
        with psycopg.connect(url) as locker:
            locker.execute("SET transaction_timeout = 0")
            locker.execute("LOCK TABLE ai_decisions IN ACCESS EXCLUSIVE MODE")
            sent = [engine.publish(user_id, QUESTION) for _ in range(2)]
            release_at = time.monotonic() + 16
            eventually(lambda: letters(engine) or time.monotonic() > release_at, "the lock's end")
        decided = [engine.decided(user_id, event_id) for event_id in sent]

        assert letters(engine) == []
        assert {row["decision"] for row in decided} == {"respond"}


def test_a_read_only_postgres_stops_admission_and_costs_no_model_call(engine: Running) -> None:
    """Reads do not open the gate; one line says that it closed, one that it opened."""
    user_id = engine.account(documents=HOURS)
    engine.decide(user_id, QUESTION)
    with structlog.testing.capture_logs() as lines:
        with read_only(engine.database):
            first = engine.publish(user_id, QUESTION)
            eventually(lambda: not engine.runtime.parts.storage.is_open, "the first commit's refusal")
            paid = engine.sandbox.calls("chat")
            waiting = [engine.publish(user_id, QUESTION) for _ in range(20)]
            look_until = time.monotonic() + 5
            eventually(
                lambda: engine.sandbox.calls("chat") > paid or time.monotonic() > look_until,
                "further model calls, or none in five seconds",
            )
            paid_meanwhile = engine.sandbox.calls("chat") - paid
        for event_id in (first, *waiting):
            engine.decided(user_id, event_id)
    said = Counter(line["event"] for line in lines)

    assert paid_meanwhile == 0
    assert (said["storage_unavailable"], said["storage_available"]) == (1, 1)
    assert letters(engine) == []


@pytest.mark.parametrize("code", ["23514", "53100", "P0001", "XX000"])
def test_a_postgres_that_refuses_every_decision_buries_none(engine: Running, code: str) -> None:
    """Whichever error it gives: an event is poison only if a harmless decision can be stored then."""
    user_id = engine.account(ai_control_enabled=False)
    refuse(engine.url, code, when="true")
    with structlog.testing.capture_logs() as lines:

        def is_closed() -> bool:
            return any(line["event"] == "storage_unavailable" for line in lines)

        sent = [engine.publish(user_id, QUESTION) for _ in range(2)]
        last_run = storage.FAILURES_BEFORE_POISON
        eventually(
            lambda: is_closed() or any(line.get("failures") == last_run for line in lines), "the outage"
        )
        ends = time.monotonic() + 2
        eventually(lambda: is_closed() or time.monotonic() > ends, "the probe, or the end of the outage")
        engine.database.execute("DROP TRIGGER refusal ON ai_decisions")
        for event_id in sent:
            engine.decided(user_id, event_id)

    assert letters(engine) == []


@pytest.mark.parametrize(("runs", "ends_as"), [(0, "a decision"), (1, "a decision"), (2, "poison")])
def test_an_entry_granted_too_often_is_poison_only_after_two_more_runs(
    url: str, redis_url: str, sandbox: SandboxHandle, runs: int, ends_as: str
) -> None:
    """Workers killed in one outage may never have run it; an entry that kills each worker must end."""
    body = body_of("e", user_id="u", text=QUESTION)
    with Redis.from_url(redis_url) as redis:
        entry_id = publish(redis, body)
        redis.hset("{hushgate:events}:starts", mapping={entry_id: 100, f"{entry_id} begun": runs})
    with running(url, redis_url, sandbox) as engine:
        eventually(lambda: engine.redis.xlen("hushgate:events") == 0, "its end")
        letter = next((each["reason_code"] for each in letters(engine)), "a decision")

        assert letter == ends_as
        assert engine.redis.hlen("{hushgate:events}:starts") == 0


def test_nothing_is_read_from_the_stream_before_the_clock_of_postgres(
    url: str, redis_url: str, sandbox: SandboxHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Payloads are judged by this clock, and the machine's may be wrong."""

    async def fails(_: DatabaseClock) -> None:
        raise StorageUnavailable("no answer", kind="ConnectionFailed")

    with monkeypatch.context() as unread, structlog.testing.capture_logs() as lines:
        unread.setattr(DatabaseClock, "_take_reading", fails)
        with running(url, redis_url, sandbox) as engine:
            user_id = engine.account(ai_control_enabled=False)
            event_id = engine.publish(user_id, QUESTION)
            eventually(lambda: Counter(each["event"] for each in lines)["storage_doubted"] > 3, "four tries")
            groups = engine.redis.xinfo_groups("hushgate:events")
            unread.undo()
            engine.decided(user_id, event_id)

    assert [group["entries-read"] for group in groups] in ([], [None], [0])


@pytest.mark.parametrize("code", ["22003", "54000", "XX001", "57014", "ZZ999"])
def test_an_event_that_alone_always_fails_ends_as_poison(
    engine: Running, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own fault soon, an unclear one after ``LONGEST_OWN_FAILURE_S``; others are decided meanwhile."""
    monkeypatch.setattr(storage, "LONGEST_OWN_FAILURE_S", 1.0, raising=False)
    user_id = engine.account(ai_control_enabled=False)
    refuse(engine.url, code, when="NEW.message_text = 'the cause'")
    engine.publish(user_id, "the cause", event_id=f"cause-{code}")
    neighbour = engine.decide(user_id, QUESTION)
    (letter,) = eventually(lambda: letters(engine), "a dead letter")
    eventually(lambda: engine.runtime.parts.storage.is_open, "an open gate")

    assert neighbour["decision"] == "ignore"
    assert letter["reason_code"] == "poison"
    assert engine.rows("SELECT * FROM ai_decisions WHERE event_id = %s", f"cause-{code}") == []


@pytest.mark.parametrize("code", ["42501", "53200", "55P03", "25006"])
def test_an_event_that_fails_for_the_server_s_fault_alone_is_never_buried(
    engine: Running, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No input can cause these, so it waits as long as it takes."""
    monkeypatch.setattr(storage, "LONGEST_OWN_FAILURE_S", 0.0, raising=False)
    user_id = engine.account(ai_control_enabled=False)
    refuse(engine.url, code, when="NEW.message_text = 'the cause'")
    with structlog.testing.capture_logs() as lines:
        event_id = engine.publish(user_id, "the cause")
        eventually(
            lambda: letters(engine) or sum(line["event"] == "storage_doubted" for line in lines) >= 3,
            "three tries",
        )
    engine.database.execute("DROP TRIGGER refusal ON ai_decisions")
    engine.decided(user_id, event_id)

    assert letters(engine) == []


@pytest.mark.parametrize(
    ("name", "before", "statement"),
    [
        ("TransactionTimeout", "SET transaction_timeout = '20ms'", "SELECT pg_sleep(20)"),
        ("QueryCanceled", "SET statement_timeout = '20ms'", "SELECT pg_sleep(20)"),
        (
            "ReadOnlySqlTransaction",
            "SET default_transaction_read_only = on",
            "INSERT INTO messages DEFAULT VALUES",
        ),
        ("InternalError_", "SELECT 1", "DO $$BEGIN RAISE 'x' USING ERRCODE = 'XX000'; END$$"),
        ("DiskFull", "SELECT 1", "DO $$BEGIN RAISE 'x' USING ERRCODE = '53100'; END$$"),
        ("SyntaxError", "SELECT 1", "SELECT FROM WHERE"),
    ],
)
async def test_what_a_caller_gets_for_an_outage(url: str, name: str, before: str, statement: str) -> None:
    """Real errors of a real server arrive as ``StorageUnavailable``, with their name."""
    async with create_pool(url, size=1, application="test") as source:
        with pytest.raises(StorageUnavailable) as caught:
            await _execute(source, before, statement)

    assert caught.value.kind == name


async def test_a_transaction_that_idles_too_long_is_an_outage(url: str) -> None:
    """A relay or a search that its process could not go on with is repeated."""
    async with create_pool(url, size=1, application="test") as source:
        with pytest.raises(StorageUnavailable) as caught:
            await _idle(source, url)

    assert caught.value.kind == "IdleInTransactionSessionTimeout"


async def _execute(source: Pool, *statements: str) -> None:
    async with checkout(source) as connection:
        for statement in statements:
            await connection.execute(statement.encode())


async def _idle(source: Pool, url: str) -> None:
    async with checkout(source) as connection:
        await connection.execute("SET idle_in_transaction_session_timeout = '20ms'")
        async with connection.transaction():
            await connection.execute("SELECT 1")
            pid = connection.info.backend_pid
            with psycopg.connect(url, autocommit=True) as other:
                query = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
                eventually(lambda: other.execute(query, (pid,)).fetchone() == (0,), "the server's repetition")
            await connection.execute("SELECT 1")
