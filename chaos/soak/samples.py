"""What is measured of a fleet while it runs, from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

import psutil
import psycopg
from redis import exceptions as redis_errors

from chaos.fleet.world import World
from chaos.observing.leaks import families

HOT: Final = (
    *("ai_decisions", "event_keys", "messages", "conversations", "outbox", "outgoing_events"),
    *("webhook_deliveries", "escalations", "quarantine", "recordings"),
)
"""Tables that every event or reply writes; those that this release does not have are left out."""
FEW_ROWS: Final = 10_000
"""Smaller tables are vacuumed by a fixed number of dead rows; their share says nothing."""
SESSIONS: Final = """
    SELECT count(*), count(*) FILTER (WHERE state LIKE 'idle in transaction%%'
        AND state_change < now() - interval '1 minute')
    FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
CLIENTS: Final = (
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
"""Not the workers of autovacuum, which take memory by the size of the tables."""
TABLES: Final = """
    SELECT coalesce(i.inhparent, s.relid)::regclass::text AS name, sum(pg_table_size(s.relid)) / 1024,
        sum(s.n_live_tup), sum(s.n_dead_tup), sum(s.autovacuum_count), sum(s.n_tup_upd), sum(s.n_tup_hot_upd)
    FROM pg_stat_user_tables s LEFT JOIN pg_inherits i ON i.inhrelid = s.relid
    WHERE coalesce(i.inhparent, s.relid)::regclass::text = ANY(%s) GROUP BY 1
"""
MOST_PREPARED: Final = "Postgres: prepared statements, most of a connection"
DATABASE: Final = "SELECT pg_database_size(current_database()) / 1024"
AWAY: Final = (
    *(redis_errors.ConnectionError, redis_errors.TimeoutError),
    *(psycopg.OperationalError, psutil.NoSuchProcess),
)
"""What a server that is away answers with; any other error is a defect here."""
WORKER: Final = re.compile(r"worker-\d+ ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The figures of one moment.

    Attributes:
        at_s: since the load began.
        published: entries accepted until then.
        figures: by name; the names of a process begin with its name and how often it was started.
    """

    at_s: float
    published: int
    figures: Mapping[str, float]


def take(world: World) -> dict[str, float]:
    """All figures that can be had now: a server that is away has none.

    Memory is what a process has for itself: pages that it shares with others depend on how many they are.
    """
    found = dict(_processes(world)) | {MOST_PREPARED: _most_prepared(world)}
    for part in (_valkey, _postgres):
        with suppress(*AWAY):
            found |= dict(part(world))
    return found


def _processes(world: World) -> Iterator[tuple[str, float]]:
    files: dict[str, int] = {}
    for each in list(world.processes.managed.values()):
        with suppress(psutil.Error):
            process = psutil.Process(each.pid)
            name = f"{each.name} (start {each.starts})"
            yield f"{name}: memory kB", process.memory_full_info().uss / 1024
            yield f"{name}: threads", process.num_threads()
            files[name] = process.num_fds()
    yield from open_files(files)


def open_files(files: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """One figure for all workers together: their connections move between them, and no sum changes."""
    workers = {name: count for name, count in files.items() if WORKER.match(name)}
    for name, count in files.items():
        if name not in workers:
            yield f"{name}: open files", count
    if workers:
        starts = ", ".join(name.removeprefix("worker-") for name in sorted(workers))
        yield f"workers {starts}: open files", sum(workers.values())


def _valkey(world: World) -> Iterator[tuple[str, float]]:
    with world.redis as redis:
        memory = cast("dict[str, Any]", redis.info("memory"))
        yield "Valkey: memory kB", memory["used_memory"] / 1024
        yield "Valkey: connections", len(cast("list[Any]", redis.client_list())) - 1
        for family, count in families(redis).items():
            yield f"Valkey: keys {family}", count
        shards = world.layout.current()
        yield "entries not finished", sum(cast("int", redis.xlen(each.name)) for each in shards)


def _postgres(world: World) -> Iterator[tuple[str, float]]:
    connections, stuck = world.rows(SESSIONS)[0]
    yield "Postgres: connections", connections
    yield "Postgres: idle in a transaction for a minute", stuck
    yield "Postgres: memory of sessions kB", _sessions_kb(world)
    yield "Postgres: database kB", float(world.rows(DATABASE)[0][0])
    for name, size_kb, live, dead, vacuums, updates, hot in world.rows(TABLES, list(HOT)):
        yield f"table {name}: kB", float(size_kb)
        yield f"table {name}: rows", float(live)
        yield f"table {name}: autovacuums", float(vacuums)
        yield f"table {name}: updates", float(updates)
        if updates:
            yield f"table {name}: HOT updates, % of all", 100 * float(hot / updates)
        if live + dead >= FEW_ROWS:
            yield f"dead rows of {name}, %", 100 * float(dead / (live + dead))


def _sessions_kb(world: World) -> float:
    """Memory of Postgres' sessions of clients; prepared statements and plans are in it."""
    total = 0.0
    for (pid,) in world.rows(CLIENTS):
        with suppress(psutil.Error):
            total += psutil.Process(pid).memory_full_info().uss / 1024
    return total


def _most_prepared(world: World) -> int:
    links = [each for each in world.network.links.values() if each.to_postgres]
    counts = world.network.call(lambda: [each.prepared_statements() for each in links])
    return max((count for each in counts for count in each), default=0)
