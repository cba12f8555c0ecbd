"""What a failover of a Redis Cluster loses, and what WAIT and appendfsync cost: ``python -m bench.cluster``.

A publisher appends events in batches; after ``PUBLISH_S`` its primary is killed and the replica promoted.
Lost is an entry that the primary acknowledged to the publisher and the replica never had.
"""

from __future__ import annotations

import statistics
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import orjson
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rich.console import Console
from rich.table import Table

from tests.support.cluster import Cluster

STREAM: Final = "hushgate:events"
EVENT: Final = {"data": b"x" * 400}
PUBLISH_S: Final = 1.5
ROUNDS: Final = 3
BATCH: Final = 20
WAIT_MS: Final = 1000
RESULT: Final = Path("out/cluster.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverRun:
    """One killed primary; ``promoted_s`` from the kill until the cluster is ok again."""

    fsync: str
    wait: bool
    published: int
    lost: int
    median_ms: float
    promoted_s: float


def publish(client: Redis, *, wait: bool) -> tuple[int, list[float]]:
    """Append until the server dies; how many events were acknowledged, and the milliseconds of each batch."""
    acknowledged, taken = 0, []
    try:
        while True:
            started = time.monotonic()
            pipe = client.pipeline(transaction=True)
            for _ in range(BATCH):
                pipe.xadd(STREAM, EVENT)  # type: ignore[arg-type]
            pipe.execute()
            if wait and not client.wait(1, WAIT_MS):
                continue
            taken.append((time.monotonic() - started) * 1000)
            acknowledged += BATCH
    except RedisError:
        pass
    return acknowledged, taken


def run(fsync: str, *, wait: bool) -> FailoverRun:
    """A fresh cluster, a publisher, and a kill while it publishes."""
    with Cluster(options=("--appendfsync", fsync)) as cluster:
        dead = cluster.primary_of(STREAM)
        killing = threading.Timer(PUBLISH_S, cluster.kill, (dead,))
        with Redis(port=dead, single_connection_client=True, retry=Retry(NoBackoff(), 0)) as client:
            killing.start()
            acknowledged, taken = publish(client, wait=wait)
            killing.join()
        promoted_s = cluster.until_promoted(STREAM, dead)
        with cluster.node(cluster.primary_of(STREAM)) as replica:
            kept = int(replica.xlen(STREAM))
    return FailoverRun(
        fsync=fsync,
        wait=wait,
        published=acknowledged,
        lost=max(0, acknowledged - kept),
        median_ms=round(statistics.median(taken), 2),
        promoted_s=round(promoted_s, 1),
    )


def main() -> None:
    """Measure and print."""
    grid = [(fsync, wait) for fsync in ("everysec", "always") for wait in (False, True)]
    runs = [run(fsync, wait=wait) for fsync, wait in grid for _ in range(ROUNDS)]
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_bytes(orjson.dumps([asdict(each) for each in runs], option=orjson.OPT_INDENT_2))
    shown = Table("appendfsync", "WAIT 1", "acknowledged", "lost", "median ms a batch", "promoted after s")
    for each in runs:
        figures = (str(each.published), str(each.lost), f"{each.median_ms}", f"{each.promoted_s}")
        shown.add_row(each.fsync, "yes" if each.wait else "no", *figures)
    Console().print(shown)


if __name__ == "__main__":
    main()
