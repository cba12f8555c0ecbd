"""Rates of requests, tokens or events that the whole fleet keeps: in Redis, a little ahead for each process.

A call costs no round trip while the process still holds a part of its last take. While Redis does not answer,
each process keeps the same rate of its own: a limit never stops or loses an event.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any, Final

import structlog
from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tasks.shards.clients import LuaScript
from worker.rates import LocalRates, RateLimit, Taken
from worker.settings.calls import Resource

log = structlog.get_logger(__name__)

BURST_S: Final = 10.0
"""Burst: what a rate allows in this time may pass at once, so a minute has at most 7/6 of the limit."""
AHEAD_S: Final = 0.3
"""A process takes what the whole fleet may use in so long."""
KEPT_S: Final = 5.0
"""What a process took and did not use is dropped after so long."""
ANSWER_S: Final = 1.0
LEAST_PAUSE_S: Final = 0.01
RATE: Final = (resources.files("tasks") / "limits" / "lua" / "rate.lua").read_text()


def rate_of(per_minute: float, *, least_burst: int = 1) -> RateLimit:
    """A limit with its burst, which is at least ``least_burst``."""
    return RateLimit(per_minute=per_minute, burst=max(least_burst, math.ceil(per_minute * BURST_S / 60)))


class FleetRates:
    """The rates in Redis, and the rates of this process for the time without Redis.

    Args:
        prefix: of the keys, with the hash tag of the stream.
    """

    def __init__(self, redis: Redis, *, prefix: str, now_s: Callable[[], float] = time.monotonic) -> None:
        self._take = LuaScript(redis, RATE)
        self._prefix = prefix
        self._now_s = now_s
        self._local = LocalRates()
        self._answers = True

    async def take(self, name: str, per_minute: int, *, wanted: int, least: int) -> Taken:
        """Take up to ``wanted`` of a rate, at least ``least``, or nothing; 0 wanted only looks."""
        rate = rate_of(per_minute)
        try:
            async with asyncio.timeout(ANSWER_S):
                values = [rate.per_minute, rate.burst, wanted, least]
                found: Any = await self._take(keys=[f"{self._prefix}:{name}"], args=values)
        except (RedisError, OSError) as error:
            self._note(answers=False, error=type(error).__name__)
            return self._local.take(name, rate, self._now_s(), wanted=wanted, least=least)
        self._note(answers=True)
        wait_us, amount, left, used = (int(each) for each in found)
        return Taken(amount=amount, wait_s=wait_us / 1e6, left=left, used=used)

    def _note(self, *, answers: bool, error: str = "") -> None:
        """Log once that each process counts for itself, and once that the fleet counts again."""
        if self._answers and not answers:
            log.warning("limits_counted_here", error=error)
        if answers and not self._answers:
            self._local.clear()
            log.info("limits_counted_by_fleet")
        self._answers = answers


def take_all(redis: SyncRedis, rates: Mapping[str, tuple[RateLimit, int]]) -> float:
    """Take from each rate, by key, its number of units, or nothing; seconds to wait in that case, else 0.

    Raises:
        RedisError: Redis did not answer.
    """
    if not rates:
        return 0.0
    values = [
        value for rate, units in rates.values() for value in (rate.per_minute, rate.burst, units, units)
    ]
    return int(LuaScript(redis, RATE).run(keys=list(rates), args=values)[0]) / 1e6


class SharedRate:
    """One limit of the fleet as a process uses it; waiting calls are served in the order of asking.

    Args:
        sleep: of the worker's clock, so that a drain ends the wait.
    """

    def __init__(
        self,
        rates: FleetRates,
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
        self._rates = rates
        self._sleep = sleep
        self._now_s = now_s
        self._held = 0
        self._held_until_s = 0.0
        self._turn = asyncio.Lock()

    async def acquire(self, amount: int) -> None:
        """Wait without limit until ``amount`` is taken."""
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
        return await self._rates.take(self.name, self.per_minute, wanted=0, least=0)

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
        """Take what is missing and a little ahead; sleep once when too little is left."""
        missing = amount - self._held
        ahead = max(missing, int(self.per_minute * AHEAD_S / 60))
        found = await self._rates.take(self.name, self.per_minute, wanted=ahead, least=missing)
        self.used = found.used
        if found.amount:
            self._held += found.amount
            self._held_until_s = self._now_s() + KEPT_S
        else:
            await self._sleep(max(LEAST_PAUSE_S, found.wait_s))


class CallRates(dict[Resource, SharedRate]):
    """The rates of calls of models, without resources that have no limit."""

    async def acquire(self, tokens: int) -> None:
        """Return when a call of about so many tokens may be made."""
        requests, of_tokens = self.get(Resource.REQUESTS), self.get(Resource.TOKENS)
        if requests is not None:
            await requests.acquire(1)
        if of_tokens is not None and tokens:
            try:
                await of_tokens.acquire(tokens)
            except BaseException:  # the wait was ended: no call is made
                if requests is not None:
                    requests.correct(1, 0)
                raise

    def give_back(self, tokens: int) -> None:
        """Give back what ``acquire`` took for a call that was not made."""
        for resource, amount in ((Resource.REQUESTS, 1), (Resource.TOKENS, tokens)):
            if (rate := self.get(resource)) is not None:
                rate.correct(amount, 0)

    def spent(self, estimated: int, tokens: int) -> None:
        """Correct the estimate of a call by its true use."""
        if (rate := self.get(Resource.TOKENS)) is not None:
            rate.correct(estimated, tokens)
