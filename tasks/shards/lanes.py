"""The lanes of every shard, found by the entry ids that they gave out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from redis.asyncio import Redis

from tasks.lanes.stream import Lanes
from tasks.shards.agreement import AGREE, agreement
from tasks.shards.backlog import load_layout
from tasks.shards.clients import LuaScript, close
from tasks.shards.layout import Shard, ShardLayout, layout_of, require
from worker.adapters.system_clock import machine_now
from worker.cancellation import all_of
from worker.model import Event


class ShardedLanes:
    """One worker's lanes; opened per shard, as the worker takes them.

    Args:
        redis: as of ``Lanes``.
        stream: HUSHGATE_STREAM.
        worker: as of ``Lanes``.
        keep_bytes: as of ``Lanes``.
        another: opens a further client, one for each shard: the client of a cluster closes all connections
            when one node fails, which must not disturb the other shards. None: all shards use ``redis``.
        now: as of ``Lanes``.
    """

    def __init__(
        self,
        redis: Redis,
        *,
        stream: str,
        worker: str,
        keep_bytes: int,
        another: Callable[[], Redis] | None = None,
        now: Callable[[], datetime] = machine_now,
    ) -> None:
        self.redis = redis
        self.layout = layout_of(stream, None)
        self._another = another
        self._open: Callable[[Shard, Redis], Lanes] = lambda shard, client: Lanes(
            client, stream=shard.name, worker=worker, keep_bytes=keep_bytes, mark=shard.mark, now=now
        )
        self._lanes: dict[str, Lanes] = {}

    async def agree(self, shards: int | None) -> None:
        """Agree with publishers and other workers on the number of shards; None: any.

        Raises:
            ConfigurationError: the stream has another number.
            RedisError: Redis did not answer.
        """
        stream = self.layout.stream
        stored = await LuaScript(self.redis, AGREE)(**agreement(stream, shards))
        self.layout = require(layout_of(stream, stored), shards)

    async def look(self) -> ShardLayout:
        """Read the layout again.

        Raises:
            RedisError: Redis did not answer.
        """
        self.layout = await load_layout(self.redis, self.layout.stream)
        return self.layout

    def of(self, shard: Shard) -> Lanes:
        """The lanes of a shard."""
        found = self._lanes.get(shard.mark)
        if found is None:
            client = self._another() if self._another else self.redis
            found = self._lanes[shard.mark] = self._open(shard, client)
        return found

    async def close(self) -> None:
        """Close the clients of the shards."""
        for lanes in self._lanes.values():
            if lanes.redis is not self.redis:
                await close(lanes.redis)

    async def begin_run(self, entry_id: str) -> int:
        """``Lanes.begin_run`` of the entry's shard."""
        return await self._by_mark(entry_id).begin_run(entry_id)

    async def newer_of_several(self, asked: Sequence[tuple[str, str]]) -> list[tuple[Event, ...]]:
        """``Lanes.newer_of_several`` in one round trip for each shard."""
        shards: dict[str, list[tuple[str, str]]] = {}
        for each in asked:
            shards.setdefault(each[0].partition("@")[2], []).append(each)
        parts = list(shards.values())
        found = await all_of(self._by_mark(part[0][0]).newer_of_several(part) for part in parts)
        answers = {
            each: rows
            for part, of_part in zip(parts, found, strict=True)
            for each, rows in zip(part, of_part, strict=True)
        }
        return [answers[each] for each in asked]

    def _by_mark(self, entry_id: str) -> Lanes:
        _, at, mark = entry_id.partition("@")
        return self._lanes[at + mark]
