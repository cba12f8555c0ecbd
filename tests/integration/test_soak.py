"""What a soak reads from real servers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import psycopg
import pytest

from chaos.plan import Plan
from chaos.soak.samples import take
from chaos.world import World
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


@pytest.mark.usefixtures("redis_url")
def test_a_sample_holds_the_figures_of_both_servers(stack: Stack, database_url: str) -> None:
    """Rows, updates in place and the share of dead rows of a table included."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO event_keys (user_id, event_id, entry_id, created_at)"
            " SELECT 'shop', 'event-' || number, number || '-0', now()"
            " FROM generate_series(1, 12000) AS number"
        )
        connection.execute("DELETE FROM event_keys WHERE event_id LIKE 'event-1%'")
        connection.execute("SELECT pg_stat_force_next_flush()")
    figures = take(Servers(stack, database_url))

    assert {*FAMILIES, *DATABASE} <= figures.keys()
    assert figures["table event_keys: rows"] == 12_000 - 3_112
    assert figures["dead rows of event_keys, %"] == pytest.approx(100 * 3_112 / 12_000)


def test_a_server_that_is_away_has_no_figures_and_the_other_has(stack: Stack, database_url: str) -> None:
    """A wrong port refuses the connection."""
    away = Servers(stack, database_url)
    away.stack.redis_url = "redis://127.0.0.1:1/0"
    figures = take(away)

    assert figures.keys() & DATABASE
    assert not figures.keys() & FAMILIES
