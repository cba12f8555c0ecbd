"""Clients of one Redis, or of a Redis Cluster; the URL says which."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypedDict, cast

from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster as SyncRedisCluster
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import NoScriptError, RedisClusterException, SlotNotCoveredError
from redis.retry import Retry as SyncRetry

from tasks.shards.connections import REPORTING, report_closed_of_nodes
from worker.errors import ConfigurationError

CLUSTER: Final = "+cluster://"
NODE_CONNECTIONS: Final = 2_000
"""Connections to one node of a cluster; each shard of a worker waits on one of its own."""
CONNECT_S: Final = 5.0


class Cluster(RedisCluster):
    """redis-py's client, whose error for a cluster without a reachable node is a ``RedisError``."""

    async def initialize(self, *words: Any, **more: Any) -> RedisCluster:
        """Ask a node for the slots.

        Raises:
            ConnectionError: of redis-py, no node answers.
        """
        try:
            return await super().initialize(*words, **more)
        except RedisClusterException as error:
            raise NotConnected(str(error)) from error

    async def _determine_nodes(self, *words: Any, **more: Any) -> list[ClusterNode]:
        """The nodes of a command; redis-py keeps what it knows of the slots after a slot had no node.

        Raises:
            ConnectionError: of redis-py, no node has the slot. The next command asks for the slots.
        """
        try:
            return await super()._determine_nodes(*words, **more)
        except (SlotNotCoveredError, KeyError) as error:
            self._initialize = True
            raise NotConnected(f"no node has the slot of a key: {error}") from error


def is_cluster(url: str) -> bool:
    """Whether a URL names a cluster: ``redis+cluster://`` or ``rediss+cluster://``."""
    return CLUSTER in url


@contextmanager
def _usable_options() -> Iterator[None]:
    """Refuse options that redis-py keeps, unknown, until it connects.

    Raises:
        ConfigurationError: the URL has an option behind "?" that redis-py does not know, or a wrong value.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"REDIS_URL: expected options of redis-py behind '?', got another ({error})"
        ) from error


@_usable_options()
def connect(url: str, *, timeout_s: float | None = 10.0) -> Redis:
    """A client without automatic retries: a repeated READ would grant twice.

    A cluster's client has the same commands; it asks for the slots again after an error.
    """
    if is_cluster(url):
        cluster = Cluster.from_url(
            url.replace(CLUSTER, "://"),
            retry=Retry(NoBackoff(), 0),
            socket_timeout=timeout_s,
            socket_connect_timeout=CONNECT_S,
            protocol=2,
            max_connections=NODE_CONNECTIONS,
            require_full_coverage=False,
        )
        report_closed_of_nodes(cluster)
        return cast("Redis", cluster)
    redis = Redis.from_url(
        url,
        retry=Retry(NoBackoff(), 0),
        socket_timeout=timeout_s,
        socket_connect_timeout=CONNECT_S,
        protocol=2,
    )
    redis.connection_pool.connection_class(**redis.connection_pool.connection_kwargs)
    redis.connection_pool.connection_class = REPORTING[redis.connection_pool.connection_class]
    return redis


def is_cluster_client(redis: object) -> bool:
    """Whether ``connect`` or ``connect_sync`` made the client for a cluster."""
    return isinstance(redis, RedisCluster | SyncRedisCluster)


@_usable_options()
def connect_sync(url: str, *, timeout_s: float = 10.0, decode_responses: bool = False) -> SyncRedis:
    """A client for threads, publishers and commands.

    Raises:
        ConnectionError: of redis-py, no node of a cluster answers.
    """
    if is_cluster(url):
        try:
            cluster = SyncRedisCluster.from_url(
                url.replace(CLUSTER, "://"),
                retry=SyncRetry(NoBackoff(), 0),
                socket_timeout=timeout_s,
                socket_connect_timeout=min(timeout_s, CONNECT_S),
                decode_responses=decode_responses,
                require_full_coverage=False,
            )
        except RedisClusterException as error:  # it is no RedisError
            raise NotConnected(str(error)) from error
        return cast("SyncRedis", cluster)
    redis = SyncRedis.from_url(
        url,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        decode_responses=decode_responses,
    )
    redis.connection_pool.connection_class(**redis.connection_pool.connection_kwargs)
    return redis


async def server_info(redis: Redis, section: str, key: str) -> dict[str, Any]:
    """A section of INFO of the server that holds a key."""
    asked: Any = redis
    if isinstance(asked, RedisCluster):
        await asked.initialize()
        return dict(await asked.info(section, target_nodes=asked.get_node_from_key(key)))
    return dict(await asked.info(section))


async def close(redis: Redis) -> None:
    """Close a client and the connections that a cluster's client keeps while it looks for a new primary."""
    asked: Any = redis
    if isinstance(asked, RedisCluster):
        await asked.nodes_manager.aclose()
        await asked.nodes_manager.aclose("startup_nodes")
    await asked.aclose()


class ScriptWords(TypedDict):
    """Keys and arguments of one call of a script."""

    keys: Sequence[str]
    args: Sequence[str | bytes | float]


class LuaScript:
    """Runs a script by its hash; a node that does not know the hash gets the text.

    The script object of redis-py loads it on every primary of a cluster instead, which fails while any of
    them is down.
    """

    def __init__(self, redis: Redis | SyncRedis, text: str) -> None:
        self.text = text
        self.sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        self._redis = redis

    async def __call__(self, *, keys: Sequence[str], args: Sequence[str | bytes | float]) -> Any:
        """The script's answer, from a client of asyncio."""
        redis: Any = self._redis  # its methods are typed for both colours at once
        try:
            return await redis.evalsha(self.sha, len(keys), *keys, *args)
        except NoScriptError:
            return await redis.eval(self.text, len(keys), *keys, *args)

    async def each(self, keys: Sequence[str], calls: Sequence[Sequence[str | int]]) -> list[Any]:
        """The answers of several calls, given their arguments, in one round trip of a client of asyncio."""
        if len(calls) == 1:  # for less than half of the cost
            return [await self(keys=keys, args=calls[0])]
        try:
            return await self._pipelined(("EVALSHA", self.sha, len(keys), *keys), calls)
        except NoScriptError:
            return await self._pipelined(("EVAL", self.text, len(keys), *keys), calls)

    async def _pipelined(self, head: Sequence[str | int], calls: Sequence[Sequence[str | int]]) -> list[Any]:
        redis: Any = self._redis
        pipe = redis.pipeline(transaction=False)
        for args in calls:  # a cluster's pipeline refuses the methods of these names, and runs the commands
            pipe.execute_command(*head, *args)
        found: list[Any] = await pipe.execute()
        return found

    def run(self, *, keys: Sequence[str], args: Sequence[str | bytes | float]) -> Any:
        """The script's answer, from a client for threads and commands."""
        redis: Any = self._redis
        try:
            return redis.evalsha(self.sha, len(keys), *keys, *args)
        except NoScriptError:
            return redis.eval(self.text, len(keys), *keys, *args)
