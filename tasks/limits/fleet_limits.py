"""All limits of a process: those of upstreams, shared over the fleet, and those of accounts."""

from __future__ import annotations

from functools import partial
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tasks.limits.account_limits import AccountLimits
from tasks.limits.rates import FleetRates, SharedRate
from tasks.limits.slots import Slots
from tasks.limits.upstream_limits import UpstreamLimits
from worker.adapters.call_guard import Upstream
from worker.ports import Clock, RetryPolicy
from worker.settings import Settings
from worker.settings.calls import UpstreamKind
from worker.supervisor import Supervisor

log = structlog.get_logger(__name__)

SHORTEST_SHARED_S: Final = 0.2
"""A shorter pause is over before other processes read it."""


def limit_prefix(stream: str) -> str:
    """The start of all keys of limits, with the hash tag of the stream."""
    return f"{{{stream}}}:limit"


class FleetLimits:
    """Makes the limits of upstreams and of accounts, and keeps them in step with the other workers."""

    def __init__(
        self, redis: Redis, settings: Settings, *, worker: str, clock: Clock, work: Supervisor
    ) -> None:
        prefix = limit_prefix(settings.stream)
        self._redis = redis
        self._settings = settings
        self._clock = clock
        self._prefix = prefix
        self._rates = FleetRates(redis, prefix=prefix)
        self.slots = Slots(redis, prefix=prefix, worker=worker, sleep=clock.sleep)
        self._upstreams: dict[str, UpstreamLimits] = {}
        self._work = work
        self.accounts = AccountLimits(self._rates, self.slots, clock)

    def of(self, kind: UpstreamKind, upstream: Upstream) -> UpstreamLimits:
        """The limits of an upstream; upstreams of one account share the lowest declared limits."""
        account, declared = upstream.account, self._settings.limits.get(kind)
        found = self._upstreams.get(account)
        if found is None:
            found = self._upstreams[account] = UpstreamLimits(
                self._clock,
                {},
                longest_pause_s=RetryPolicy().longest_wait_s,
                paused=lambda seconds: self._share(account, seconds),
            )
        for resource, per_minute in declared.by_resource() if declared else ():
            known = found.rates.get(resource)
            if known is None or per_minute < known.per_minute:
                name = f"upstream:{resource}:{account}"
                found.rates[resource] = SharedRate(self._rates, name, per_minute, sleep=self._clock.sleep)
        return found

    async def read_pauses(self) -> None:
        """Pause each upstream that asked another process for a pause; none while Redis does not answer."""
        upstreams = dict(self._upstreams)  # other servers may come meanwhile
        try:
            async with self._redis.pipeline(transaction=False) as pipe:
                for account in upstreams:
                    pipe.pttl(self._pause_key(account))
                left = await pipe.execute()
        except (RedisError, OSError) as error:
            log.debug("pauses_not_read", error=type(error).__name__)
            return
        for limits, left_ms in zip(upstreams.values(), left, strict=True):
            if left_ms > 0:
                limits.pause(left_ms / 1000)

    def _share(self, account: str, seconds: float) -> None:
        if seconds < SHORTEST_SHARED_S:
            return
        self._work.start("share_pause", partial(self._write_pause, account, seconds), account=account)

    async def _write_pause(self, account: str, seconds: float) -> None:
        try:
            await self._redis.set(self._pause_key(account), 1, px=int(seconds * 1000))
        except (RedisError, OSError) as error:
            log.debug("pause_not_shared", error=type(error).__name__)  # others learn it from the server

    def _pause_key(self, account: str) -> str:
        return f"{self._prefix}:pause:{account}"
