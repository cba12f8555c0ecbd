"""Buckets of requests or tokens that the whole fleet takes from: in Redis, a little ahead for each process.

A call costs no round trip while the process still holds a part of its last take. While Redis does not answer,
each process takes from a bucket of its own of the same size: a limit never stops or loses an event.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

BURST_S: Final = 10.0
"""A bucket holds what it gets in so long; so a minute has at most 7/6 of the limit."""
AHEAD_S: Final = 0.3
"""A process takes what the whole fleet may use in so long."""
KEPT_S: Final = 5.0
"""What a process took and did not use is dropped after so long."""
ANSWER_S: Final = 1.0
LEAST_PAUSE_S: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The answer of a bucket.

    Attributes:
        amount: 0 when less than the useful part was left.
        wait_s: until that much is there.
        left: in the bucket; negative after a call that was larger than the bucket.
        used: in the last minute, by the fleet.
    """

    amount: int
    wait_s: float
    left: int
    used: int


class FleetBuckets:
    """The buckets in Redis, and those of this process for the time without Redis.

    Args:
        prefix: of the keys, with the hash tag of the stream.
    """

    def __init__(self, redis: Redis, *, prefix: str, now_s: Callable[[], float] = time.monotonic) -> None:
        self._take = redis.register_script(
            (resources.files("tasks") / "limits" / "lua" / "take.lua").read_text()
        )
        self._prefix = prefix
        self._now_s = now_s
        self._local: dict[str, tuple[float, float]] = {}
        self._answers = True

    async def take(self, name: str, per_minute: int, *, wanted: int, least: int) -> Taken:
        """Take up to ``wanted`` from a bucket, at least ``least``, or nothing; 0 wanted only looks."""
        most = burst(per_minute)
        try:
            async with asyncio.timeout(ANSWER_S):
                keys, values = [f"{self._prefix}:{name}"], [per_minute, most, wanted, least]
                found: Any = await self._take(keys=keys, args=values)
        except (RedisError, OSError) as error:
            self._note(answers=False, error=type(error).__name__)
            return self._take_here(name, per_minute, wanted, least)
        self._note(answers=True)
        amount, wait_ms, left, used = (int(each) for each in found)
        return Taken(amount=amount, wait_s=wait_ms / 1000, left=left, used=used)

    def _take_here(self, name: str, per_minute: int, wanted: int, least: int) -> Taken:
        """As the script, from a bucket of this process; it does not know what was used."""
        now_s, most = self._now_s(), burst(per_minute)
        left, at_s = self._local.get(name, (float(most), now_s))
        left = min(float(most), left + (now_s - at_s) * per_minute / 60)
        amount, wait_s = 0, 0.0
        if wanted > 0 and left >= min(least, most):
            amount = max(min(wanted, math.floor(left)), least)
        elif wanted > 0:
            wait_s = (min(least, most) - left) * 60 / per_minute
        self._local[name] = (left - amount, now_s)
        return Taken(amount=amount, wait_s=wait_s, left=math.floor(left - amount), used=0)

    def _note(self, *, answers: bool, error: str = "") -> None:
        """Log once that each process counts for itself, and once that the fleet counts again."""
        if self._answers and not answers:
            log.warning("limits_counted_here", error=error)
        if answers and not self._answers:
            self._local.clear()
            log.info("limits_counted_by_fleet")
        self._answers = answers


def burst(per_minute: int) -> int:
    """The most that a bucket holds."""
    return max(1, math.ceil(per_minute * BURST_S / 60))


class Bucket:
    """One limit of the fleet as a process uses it; waiting calls are served in the order of asking.

    Args:
        sleep: of the worker's clock, so that a drain ends the wait.
    """

    def __init__(
        self,
        buckets: FleetBuckets,
        name: str,
        per_minute: int,
        *,
        sleep: Callable[[float], Awaitable[None]],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.per_minute = per_minute
        self.waiting = 0
        self.used = 0
        self._buckets = buckets
        self._sleep = sleep
        self._now_s = now_s
        self._held = 0
        self._held_until_s = 0.0
        self._turn = asyncio.Lock()

    async def acquire(self, amount: int) -> None:
        """Return when ``amount`` is taken; waits as long as it takes."""
        if not self._turn.locked() and self._take_held(amount):
            return
        self.waiting += 1
        try:
            async with self._turn:
                while not self._take_held(amount):
                    await self._refill(amount)
        finally:
            self.waiting -= 1

    def correct(self, estimated: int, used: int) -> None:
        """Give back what was taken too much; what was taken too little is taken with the next call."""
        self._drop_old()
        self._held += estimated - used
        if used < estimated:
            self._held_until_s = self._now_s() + KEPT_S

    async def look(self) -> Taken:
        """What is left, and what the fleet used in the last minute."""
        return await self._buckets.take(self.name, self.per_minute, wanted=0, least=0)

    def _take_held(self, amount: int) -> bool:
        self._drop_old()
        if self._held < amount:
            return False
        self._held -= amount
        return True

    def _drop_old(self) -> None:
        if self._held > 0 and self._now_s() >= self._held_until_s:
            self._held = 0

    async def _refill(self, amount: int) -> None:
        """Take what is missing and a little ahead; sleep once when the bucket has too little."""
        missing = amount - self._held
        ahead = max(missing, int(self.per_minute * AHEAD_S / 60))
        found = await self._buckets.take(self.name, self.per_minute, wanted=ahead, least=missing)
        self.used = found.used
        if found.amount:
            self._held += found.amount
            self._held_until_s = self._now_s() + KEPT_S
        else:
            await self._sleep(max(LEAST_PAUSE_S, found.wait_s))
