"""What a failover loses of acknowledged writes, by setting, and what each setting costs.

``python -m bench.failover``; servers of its own. Before a failover the replica is cut off for ``BEHIND_S``,
as by a network that fails first: on loopback it is never behind.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, Self

import psycopg
from rich.console import Console
from rich.table import Table

from bench.failover_valkey import ClusterShard, Pair, Wait, cluster_failover
from cli.stack import Stack
from tests.support.pgbouncer import pooled
from tests.support.replica import Replica, replica_of

HEALTHY_S: Final = 2.0
BEHIND_S: Final = 0.5
PUBLISHERS: Final = 4
CREATE: Final = "CREATE TABLE acknowledged (id bigint PRIMARY KEY)"
POSTGRES: Final = (
    ("synchronous_commit on, no standby named", "on", ""),
    ("synchronous_commit off, no standby named", "off", ""),
    ("synchronous_commit remote_write, standby named", "remote_write", "*"),
    ("synchronous_commit on, standby named", "on", "*"),
    ("synchronous_commit remote_apply, standby named", "remote_apply", "*"),
)
VALKEY: Final = (
    ("appendfsync everysec", {"appendfsync": "everysec"}, ()),
    ("appendfsync always", {"appendfsync": "always"}, ()),
    ("everysec, min-replicas-to-write 1", {"appendfsync": "everysec", "min-replicas-to-write": "1"}, ()),
    ("everysec, WAIT 1", {"appendfsync": "everysec"}, ("WAIT", 1, 100)),
    ("everysec, WAITAOF 1 1", {"appendfsync": "everysec"}, ("WAITAOF", 1, 1, 2000)),
    ("always, WAIT 1", {"appendfsync": "always"}, ("WAIT", 1, 100)),
    ("always, WAITAOF 1 1", {"appendfsync": "always"}, ("WAITAOF", 1, 1, 2000)),
)
CLUSTER: Final = (("appendfsync everysec", ()), ("everysec, WAIT 1", ("WAIT", 1, 100)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverRun:
    """One failover.

    Attributes:
        acknowledged: writes that the server confirmed.
        lost: of those, missing on the promoted server.
        per_s: writes a second by ``PUBLISHERS`` writers before it; ``p50_ms`` the time of one.
    """

    server: str
    setting: str
    acknowledged: int
    lost: int
    per_s: float
    p50_ms: float


@dataclass(slots=True, kw_only=True)
class Writers:
    """Threads that write one after the other until a write fails; each has a connection of its own.

    Attributes:
        write: opens a connection and gives the call that stores a number; it returns what was acknowledged.
    """

    write: Callable[[], Callable[[int], Any]]
    acknowledged: list[Any] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        for number in range(PUBLISHERS):
            self._threads.append(threading.Thread(target=self._run, args=(number,), daemon=True))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(5)

    def _run(self, number: int) -> None:
        try:
            store = self.write()
            while not self._ended.is_set():
                number += PUBLISHERS
                started = time.perf_counter()
                done = store(number)
                if done is not None:
                    self.acknowledged.append(done)
                    self.times.append(time.perf_counter() - started)
        except Exception:  # noqa: BLE001  # the server died: nothing more is acknowledged
            return

    def healthy(self) -> tuple[float, float]:
        """Writes a second and the median time of one in milliseconds, after ``HEALTHY_S``."""
        time.sleep(HEALTHY_S)
        times = list(self.times)
        return len(times) / HEALTHY_S, 1000 * statistics.median(times)


def valkey_run(
    servers: AbstractContextManager[Pair | ClusterShard], name: str, setting: str, wait: Wait
) -> FailoverRun:
    """Kill a primary and promote its replica; a cluster does that itself."""
    with servers as pair:
        with Writers(write=lambda: pair.writer(wait)) as writers:
            per_s, p50_ms = writers.healthy()
            pair.part()
            time.sleep(BEHIND_S)
            pair.kill_primary()
        lost = pair.promote(writers.acknowledged)
    return FailoverRun(
        server=name, setting=setting, acknowledged=len(writers.acknowledged), lost=lost,
        per_s=per_s, p50_ms=p50_ms,
    )  # fmt: skip


def postgres_run(setting: str, commit: str, names: str) -> FailoverRun:
    """Stop a primary at once and promote its standby."""
    with Stack(redis_url="redis://unused") as stack, replica_of(stack.database_url) as standby:
        with psycopg.connect(stack.database_url, autocommit=True) as owner:
            owner.execute(CREATE)
            owner.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'".encode())
            owner.execute("SELECT pg_reload_conf()")
        writer = _committer(stack.database_url, commit)
        with Writers(write=writer) as writers:
            per_s, p50_ms = writers.healthy()
            _part(standby)
            time.sleep(BEHIND_S)
            stack.kill_postgres()
        stored = _promoted(standby)
    lost = sum(each not in stored for each in writers.acknowledged)
    return FailoverRun(
        server="Postgres", setting=setting, acknowledged=len(writers.acknowledged), lost=lost,
        per_s=per_s, p50_ms=p50_ms,
    )  # fmt: skip


def pgbouncer_run() -> FailoverRun:
    """Kill PgBouncer in front of Postgres; a new one takes its place."""
    with Stack(redis_url="redis://unused") as stack:
        with psycopg.connect(stack.database_url, autocommit=True) as owner:
            owner.execute(CREATE)
        with ExitStack() as running:
            through = running.enter_context(pooled(stack.database_url, size=PUBLISHERS))
            with Writers(write=_committer(through, None)) as writers:
                per_s, p50_ms = writers.healthy()
                running.close()  # the pooler ends while they write
        with psycopg.connect(stack.database_url) as owner:
            stored = {row[0] for row in owner.execute("SELECT id FROM acknowledged")}
    lost = sum(each not in stored for each in writers.acknowledged)
    return FailoverRun(
        server="PgBouncer", setting="ended while it has clients", acknowledged=len(writers.acknowledged),
        lost=lost, per_s=per_s, p50_ms=p50_ms,
    )  # fmt: skip


def _committer(url: str, commit: str | None) -> Callable[[], Callable[[int], int]]:
    def open_connection() -> Callable[[int], int]:
        connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)
        if commit is not None:
            connection.execute(f"SET synchronous_commit = {commit}".encode())

        def store(number: int) -> int:
            connection.execute("INSERT INTO acknowledged VALUES (%s)", (number,))
            return number

        return store

    return open_connection


def _part(standby: Replica) -> None:
    """Cut the standby off from its primary."""
    with psycopg.connect(standby.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
        connection.execute("SELECT pg_reload_conf()")


def _promoted(standby: Replica) -> set[int]:
    with psycopg.connect(standby.url, autocommit=True) as connection:
        connection.execute("SELECT pg_promote()")
        return {row[0] for row in connection.execute("SELECT id FROM acknowledged")}


def main() -> None:
    """Run every failover and print the table."""
    runs = [valkey_run(Pair(options), "Valkey", setting, wait) for setting, options, wait in VALKEY]
    runs += [valkey_run(cluster_failover(), "Valkey Cluster", *each) for each in CLUSTER]
    runs += [postgres_run(*each) for each in POSTGRES]
    runs.append(pgbouncer_run())
    table = Table()
    for name in ("server", "setting", "acknowledged", "lost", "writes a second", "ms"):
        table.add_column(name)
    for run in runs:
        figures = (str(run.acknowledged), str(run.lost), f"{run.per_s:,.0f}", f"{run.p50_ms:.2f}")
        table.add_row(run.server, run.setting, *figures)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
