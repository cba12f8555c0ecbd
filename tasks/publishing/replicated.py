"""Appending to a stream until replicas have the entries, so that a failover does not lose them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from redis import Redis
from redis.exceptions import AskError, ClusterDownError, RedisClusterException, RedisError, TryAgainError
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import TimeoutError as NoAnswer

from tasks.shards.clients import is_cluster_client
from worker.settings import StreamSettings

APPEND: Final = """#!lua
-- KEYS[1] stream; ARGV payloads. Redis checks its memory at the start only: it adds all or none.
local ids = {}
for i, payload in ipairs(ARGV) do ids[i] = redis.call('XADD', KEYS[1], '*', 'data', payload) end
return ids
"""
ANSWER_S: Final = 10.0
"""Repetition with each answer, beside the wait for replicas."""
WAIT_S: Final = 1.0
"""Wait for replicas, in seconds; a replica that keeps up answers within milliseconds."""
MOST_LAG_S: Final = 3
"""A replica reports every second; one that has been silent for longer would not answer WAIT either."""
REPLICA: Final = re.compile(r"slave\d+")
"""The fields of INFO replication, also in Valkey."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """When an entry counts as published.

    Attributes:
        replicas: how many replicas must have it; 0: the primary alone is enough. A failover loses nothing
            when it is the number of replicas, as any of them may be promoted.
        wait_s: how long to wait for them, before the publisher is refused.
    """

    replicas: int = 0
    wait_s: float = WAIT_S

    @classmethod
    def of(cls, settings: StreamSettings) -> Replication:
        """The replication that HUSHGATE_PUBLISH_REPLICAS wants."""
        return cls(replicas=settings.publish_replicas, wait_s=WAIT_S)


class TooFewReplicas(Exception):
    """How many replicas have the entries; when too few are online, nothing was appended."""


def append_replicated(redis: Redis, stream: str, payloads: Sequence[bytes], wanted: Replication) -> list[Any]:
    """Append all payloads or no payload, and wait for replicas; the answers.

    While replicas are known to be silent nothing is appended, so that repeated attempts do not fill the
    stream with copies.

    Raises:
        TooFewReplicas: fewer than wanted have the entries.
        RedisError: the outcome is unknown; the next attempt finds a promoted primary.
    """
    with _primary_of(redis, stream) as primary:
        online = _online(primary.info("replication"))
        if online < wanted.replicas:
            raise TooFewReplicas(online)
        with _connection_of(primary) as connection:
            connection.send_command("EVAL", APPEND, 1, stream, *payloads)
            added: list[Any] = connection.read_response(timeout=ANSWER_S)
            connection.send_command("WAIT", wanted.replicas, max(1, round(wanted.wait_s * 1000)))
            reached = int(connection.read_response(timeout=wanted.wait_s + ANSWER_S))
    if reached < wanted.replicas:
        raise TooFewReplicas(reached)
    return added


@contextmanager
def _primary_of(redis: Redis, stream: str) -> Iterator[Redis]:
    """A client of the server that takes the writes; a cluster's client learns of a new one by an error."""
    if not is_cluster_client(redis):
        yield redis
        return
    cluster: Any = redis
    try:
        yield cluster.get_redis_connection(cluster.get_node_from_key(stream))
    except RedisClusterException as error:
        raise NotConnected(str(error)) from error
    except (AskError, ClusterDownError, TryAgainError, NotConnected, NoAnswer):  # a MovedError is an AskError
        with suppress(RedisError, RedisClusterException, OSError):
            cluster.nodes_manager.initialize()
        raise


@contextmanager
def _connection_of(primary: Redis) -> Iterator[Any]:
    """One connection: WAIT counts what its own connection wrote, and nothing is sent again after an error."""
    pool = primary.connection_pool
    connection: Any = pool.get_connection()
    try:
        yield connection
    except BaseException:
        connection.disconnect()
        raise
    finally:
        pool.release(connection)


def _online(info: Mapping[str, Any]) -> int:
    """Replicas that have reported lately."""
    replicas = [value for name, value in info.items() if REPLICA.fullmatch(name)]
    return sum(each["state"] == "online" and int(each["lag"]) <= MOST_LAG_S for each in replicas)
