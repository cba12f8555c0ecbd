"""What grows: keys and lanes in Valkey, connections, memory of processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final, cast

from redis import Redis

from chaos.fleet.world import World
from chaos.kinds import Role
from tasks.shards.layout import Shard

CONNECTIONS: Final = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
POOL: Final = 10
"""Default of HUSHGATE_DB_POOL; a worker has one for the hot path and a few for its jobs."""
MOST_POSTGRES: Final = {
    Role.WORKER: POOL + 5,
    Role.DELIVERER: POOL + 5,
    Role.BEAT: 0,
    Role.GATEWAY: 2 * POOL,
    Role.REVIEW: POOL,
}
"""The gateway has a second pool for checks. In sum below ``max_connections`` of Postgres, 100, for up to
three workers; 39 are usual then."""
MOST_VALKEY: Final = 30
"""Connections of one process to Valkey: Celery's threads and the engine's."""
OWN_POSTGRES: Final = 5
"""Connections of the run itself."""
MARKS: Final = ":sent"
"""Family of the marks of what is on a stream, one for each reply and escalation."""
MOST_KEYS: Final = 100
"""Of all other families, when nothing is unfinished; 26 are usual."""
WARM_S: Final = 60.0
GROWTH: Final = 1.5
"""A process that has this many times the memory of its first minute leaks; texts and caches come first."""


@dataclass(slots=True)
class Growth:
    """Figures at the end of a run, and what of them is a breach."""

    keys: dict[str, int] = field(default_factory=dict)
    lanes: int = 0
    postgres: int = 0
    valkey: int = 0
    memory_mb: dict[str, dict[str, float]] = field(default_factory=dict)

    def breaches(self, world: World) -> tuple[str, ...]:
        """Read the figures; a sentence for each one that is too large."""
        with world.redis as redis:
            shards = world.layout.current()
            self.keys, self.lanes = dict(families(redis)), sum(_lanes(redis, shard) for shard in shards)
            self.valkey = len(cast("list[Any]", redis.client_list()))
            living_pids = {each.pid for each in world.processes.managed.values()}
            dead = sum(_owned_by_dead(redis, shard, living_pids) for shard in shards)
        self.postgres = int(world.rows(CONNECTIONS)[0][0])
        self.memory_mb = {str(role): _memory(found) for role, found in world.processes.memory_mb.items()}
        living = [each.role for each in world.processes.managed.values()]
        most, unmarked = most_postgres(living), unmarked_keys(self.keys)
        found = [f"{self.lanes} lanes without entries"] if self.lanes else []
        found += [f"{dead} lanes owned by processes that ended"] if dead else []
        if unmarked > MOST_KEYS:
            found.append(f"{unmarked} keys of Valkey besides marks, {MOST_KEYS} at most")
        if self.postgres > most:
            found.append(f"{self.postgres} connections to Postgres, {most} at most")
        if self.valkey > MOST_VALKEY * len(living):
            found.append(f"{self.valkey} connections to Valkey for {len(living)} processes")
        return (*found, *self._memory_breaches())

    def _memory_breaches(self) -> tuple[str, ...]:
        return tuple(
            f"{role}: {figures['late']:.0f} MB after {figures['warm']:.0f} MB"
            for role, figures in self.memory_mb.items()
            if figures["late"] > GROWTH * figures["warm"] > 0
        )


def most_postgres(living: Iterable[Role]) -> int:
    """How many connections to Postgres such processes and the run itself may have."""
    return sum(MOST_POSTGRES[role] for role in living) + OWN_POSTGRES


def unmarked_keys(keys: Mapping[str, int]) -> int:
    """Keys that do not grow with what was sent, of all families."""
    return sum(count for family, count in keys.items() if not family.endswith(MARKS))


def families(redis: Redis) -> Counter[str]:
    """How many keys of each family: the name without ids."""
    found = Counter[str]()
    for key in redis.scan_iter(count=5_000):
        name = key.decode(errors="replace")
        head, _, tail = name.partition("}:")
        found[f"{head}}}:{tail.partition(':')[0]}" if tail else name.partition(":")[0]] += 1
    return found


def _lanes(redis: Redis, shard: Shard) -> int:
    return sum(1 for _ in redis.scan_iter(f"{shard.prefix}lane:*", count=5_000))


def _owned_by_dead(redis: Redis, shard: Shard, living: set[int]) -> int:
    owners = cast("dict[bytes, bytes]", redis.hgetall(f"{shard.prefix}owner"))
    return sum(int(value.split(b":")[1]) not in living for value in owners.values())


def _memory(samples: list[tuple[float, float]]) -> dict[str, float]:
    """Resident memory in MB: highest; median at age 30 to 60 s; median after 5 minutes."""
    warm = [size for age, size in samples if WARM_S / 2 <= age < WARM_S]
    late = [size for age, size in samples if age >= 5 * WARM_S]
    return {
        "most": round(max((size for _, size in samples), default=0.0), 1),
        "warm": round(median(warm), 1) if warm else 0.0,
        "late": round(median(late), 1) if late else 0.0,
    }
