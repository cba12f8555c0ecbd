"""Appending to a stream until replicas have the entries, so that a failover does not lose them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from redis import Redis
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import MovedError, RedisError
from redis.exceptions import TimeoutError as NoAnswer

from tasks.shards.clients import is_cluster_client
from worker.settings import StreamSettings

APPEND: Final = """#!lua
-- KEYS[1] stream; ARGV payloads. Redis checks its memory at the start only: it adds all or none.
local ids = {}
for i, payload in ipairs(ARGV) do ids[i] = redis.call('XADD', KEYS[1], '*', 'data', payload) end
return ids
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """When an entry counts as published.

    Attributes:
        replicas: how many replicas must have it; 0: the primary alone is enough.
        wait_s: how long to wait for them.
    """

    replicas: int = 0
    wait_s: float = 1.0

    @classmethod
    def of(cls, settings: StreamSettings) -> Replication:
        """As HUSHGATE_PUBLISH_REPLICAS and HUSHGATE_PUBLISH_WAIT_S say."""
        return cls(replicas=settings.publish_replicas, wait_s=settings.publish_wait_s)


def append_replicated(
    redis: Redis, stream: str, payloads: Sequence[bytes], wanted: Replication
) -> tuple[list[Any], int]:
    """Append all payloads or none; the answers, and how many replicas have them.

    WAIT counts the replicas that have what its own connection wrote, so both commands share one.
    """
    cluster: Any = redis if is_cluster_client(redis) else None
    server = cluster.get_redis_connection(cluster.get_node_from_key(stream)) if cluster else redis
    try:
        with server.pipeline(transaction=False) as pipeline:
            pipeline.eval(APPEND, 1, stream, *payloads)
            pipeline.wait(wanted.replicas, max(1, round(wanted.wait_s * 1000)))
            added, reached = pipeline.execute()
    except (MovedError, NotConnected, NoAnswer):
        if cluster:  # the next attempt finds the new primary
            with suppress(RedisError, OSError):
                cluster.nodes_manager.initialize()
        raise
    return list(added), int(reached)
