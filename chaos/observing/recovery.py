"""How long it takes after a fault until the entries that were being decided at that moment are finished."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, cast

from redis import Redis
from redis.exceptions import RedisError

from chaos.fleet.world import World
from chaos.kinds import FaultKind
from tasks.shards.layout import Shard, ShardLayout

MOST: Final = 100
"""Entries that are followed of each worker."""
LOOK_S: Final = 0.1


@dataclass(slots=True, kw_only=True)
class Watched:
    """A fault whose entries are not all finished; ``since_s``: when it was over, on the monotonic clock."""

    kind: FaultKind
    since_s: float
    entries: list[str]


class Recoveries:
    """Follows the entries of every fault, by reading the stream."""

    def __init__(self, world: World) -> None:
        self.took_s: dict[FaultKind, list[float]] = defaultdict(list)
        self._world = world
        self._watched: list[Watched] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recoveries", daemon=True)
        self._thread.start()

    def pending(self, pid: int = 0) -> list[str]:
        """The entries that are being decided; with ``pid``, by that worker."""
        with suppress(RedisError), self._world.redis as redis:
            shards = self._world.layout.current()
            return [entry for shard in shards for entry in owned_entries(redis, shard, pid)]
        return []

    def watch(self, kind: FaultKind, entries: list[str]) -> None:
        """Follow the entries of a fault that is over now."""
        if entries:
            self._watched.append(Watched(kind=kind, since_s=time.monotonic(), entries=entries))

    def _run(self) -> None:
        redis = self._world.redis
        while not self._ended.wait(LOOK_S):
            with suppress(RedisError, OSError):
                for each in list(self._watched):
                    if _finished(redis, self._world.layout, each):
                        self._watched.remove(each)
                        self.took_s[each.kind].append(time.monotonic() - each.since_s)

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join(15)


def owned_entries(redis: Redis, shard: Shard, pid: int) -> list[str]:
    """The heads of a shard's lanes that a worker owns, by its process id; 0: that any owns."""
    keys = shard.prefix
    names = [name.decode() for name in cast("set[bytes]", redis.smembers(f"{keys}workers"))]
    found: list[str] = []
    for name in names:
        if not pid or name.split(":")[1] == str(pid):
            lanes = cast("set[bytes]", redis.smembers(f"{keys}owned:{name}"))
            with redis.pipeline(transaction=False) as pipeline:
                for lane in list(lanes)[:MOST]:
                    pipeline.zrange(f"{keys}lane:{lane.decode()}", 0, 0)
                heads = pipeline.execute()
            found += [_unpadded(head[0].decode()) + shard.mark for head in heads if head]
    return found


def _unpadded(member: str) -> str:
    milliseconds, _, number = member.partition("-")
    return f"{int(milliseconds)}-{int(number)}"


def _finished(redis: Redis, layout: ShardLayout, watched: Watched) -> bool:
    while watched.entries:
        place, entry_id = layout.place_of(watched.entries[-1])
        if redis.xrange(place.key, entry_id, entry_id):
            return False
        watched.entries.pop()
    return True
