"""What a soak reads from real servers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast
from urllib.parse import urlsplit

import psycopg
import pytest

from chaos.fleet.proxy import Network
from chaos.fleet.world import World
from chaos.observing.collect import stuck
from chaos.plan import Plan
from chaos.soak.samples import MOST_PREPARED, take
from cli.stack import Stack

PLAN = Plan(events=1, workers=1, seed=1, counts={})
FAMILIES = ("Valkey: memory kB", "Valkey: connections", "entries not finished")
DATABASE = ("Postgres: connections", "Postgres: memory of sessions kB", "Postgres: database kB")


class Servers(World):
    """Servers without processes."""

    def __init__(self, stack: Stack, database_url: str) -> None:
        """Take servers that run."""
        pids = {
            "redis_url": stack.redis_url,
            "database_url": database_url,
            "postgres_pid": stack.postgres_pid,
        }
        self.plan, self.stack = PLAN, cast("Stack", SimpleNamespace(**pids))
        self.processes = SimpleNamespace(managed={})  # type: ignore[assignment]
        self.network = Network()


@pytest.fixture
def servers(stack: Stack, database_url: str) -> Iterator[Servers]:
    """The servers, with links of their own."""
    made = Servers(stack, database_url)
    yield made
    made.network.stop()


@pytest.mark.usefixtures("redis_url")
def test_a_sample_holds_the_figures_of_both_servers(servers: Servers, database_url: str) -> None:
    """Rows, updates in place and the share of dead rows of a table included."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE event_keys SET (autovacuum_enabled = false)")  # it removes dead rows
        connection.execute(
            "INSERT INTO event_keys (user_id, event_id, entry_id, created_at)"
            " SELECT 'shop', 'event-' || number, number || '-0', now()"
            " FROM generate_series(1, 12000) AS number"
        )
        connection.execute("DELETE FROM event_keys WHERE event_id LIKE 'event-1%'")
        connection.execute("SELECT pg_stat_force_next_flush()")
    figures = take(servers)

    assert {*FAMILIES, *DATABASE} <= figures.keys()
    assert figures["table event_keys: rows"] == 12_000 - 3_112
    assert figures["dead rows of event_keys, %"] == pytest.approx(100 * 3_112 / 12_000)


def test_a_sample_holds_the_prepared_statements_that_postgres_holds(
    servers: Servers, database_url: str
) -> None:
    """Counted in the links: the same number as the session's own view, also above what psycopg keeps."""
    url = urlsplit(database_url)
    path = f"{url.query.partition('=')[2]}/.s.PGSQL.5432"
    link = servers.network.open_link("worker postgres", lambda: path, to_postgres=True)
    through = f"host=127.0.0.1 port={link.port} user=postgres dbname={url.path[1:]} sslmode=disable"
    with psycopg.connect(through + " gssencmode=disable", autocommit=True) as connection:
        for number in range(105):
            connection.execute(f"SELECT {number}", prepare=True)
        connection.execute("SELECT 1", prepare=False)
        held = connection.execute("SELECT count(*) FROM pg_prepared_statements", prepare=False).fetchone()

        assert held == (100,)
        assert take(servers)[MOST_PREPARED] == 100
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("SELECT 1/(%s - 1)", (1,), prepare=True)
        held = connection.execute("SELECT count(*) FROM pg_prepared_statements", prepare=False).fetchone()
        assert held == (take(servers)[MOST_PREPARED],)


@pytest.mark.usefixtures("redis_url")
def test_a_row_that_a_sweep_adds_late_is_not_stuck_and_one_that_stays_is(
    servers: Servers, database_url: str
) -> None:
    """A row is added when all the others are sent, and the relay sends it a moment later."""
    servers.stopping = threading.Event()
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO outgoing_events (user_id, conversation_id, type, key, body, created_at)"
            " VALUES ('shop', 'c1', 'escalation.closed', 'k1', '{}', now())"
        )
        waiting = {what for what, count in stuck(servers, patience_s=0.2).items() if count}
        assert waiting == {"outgoing events that wait", "outgoing events without webhooks"}

        relay = threading.Timer(
            0.3, connection.execute, ["UPDATE outgoing_events SET streamed_at = now(), fanned_out_at = now()"]
        )
        relay.start()
        left = stuck(servers, patience_s=20)
        relay.join()

    assert not any(left.values())
