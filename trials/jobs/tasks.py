"""The periodic task that returns rollouts whose candidate left its bounds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import structlog
from celery import shared_task
from redis.asyncio import Redis
from redis.exceptions import RedisError

from db.pool import Pool
from tasks.maintenance import runtime_of
from tasks.process import telemetry
from trials.pure.trial import Trial
from trials.store.candidates import TrialRefused
from trials.store.rollout_steps import check_rollout, return_automatically
from trials.store.rollouts import rollouts_to_check
from worker.errors import is_outage

log = structlog.get_logger(__name__)
SPARED: Final = 20.0
"""Times as long as its check took, a rollout is not checked again: a twentieth of a core of Postgres. A
million decisions since the last step take 12 s."""
SHORTEST_S: Final = 15.0
"""The shortest rest: the period of the check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRests:
    """Rollouts whose check took long, and rests; in Redis, as any worker may run the next one."""

    redis: Redis
    stream: str

    async def is_resting(self, rollout: Trial) -> bool:
        """Whether its rest is not over; without Redis none rests."""
        try:
            return bool(await self.redis.exists(self._key(rollout)))
        except RedisError:
            return False

    async def begin(self, rollout: Trial, took_s: float) -> None:
        """Let it rest after a check that took so long."""
        if (rest_s := SPARED * took_s) > SHORTEST_S:
            try:
                await self.redis.set(self._key(rollout), "1", px=round(rest_s * 1000))
            except RedisError:
                return

    def _key(self, rollout: Trial) -> str:
        """The key of a rollout's rest; each step of the rollout starts a new measurement."""
        return f"{{{self.stream}}}:checked:{rollout.trial_id}:{rollout.stepped_at.timestamp()}"


async def watch_rollouts(pool: Pool, now: datetime, rests: CheckRests | None = None) -> int:
    """Return every running rollout that must not go on, but those that rest; how many were."""
    returned = 0
    for rollout in await rollouts_to_check(pool):
        if rests and await rests.is_resting(rollout):
            continue
        began, broken = time.monotonic(), False
        try:
            broken = await _returned(pool, rollout, now)
        except Exception as error:  # one that cannot be checked in time must not stop the others
            if is_outage(error):
                raise
            log.exception("rollout_not_checked", rollout_id=str(rollout.trial_id), exc_info=error)
            telemetry.report(error)
        if rests and not broken:
            await rests.begin(rollout, time.monotonic() - began)
        returned += broken
    return returned


async def _returned(pool: Pool, rollout: Trial, now: datetime) -> bool:
    """Return a rollout that must not go on; whether it was."""
    if not (broken := await check_rollout(pool, rollout, now)):
        return False
    try:
        await return_automatically(pool, rollout, broken, now)
    except TrialRefused:
        return False  # a person ended it meanwhile
    log.warning("rollout_returned", user_id=rollout.user_id, rollout_id=str(rollout.trial_id))
    return True


@shared_task(name="hushgate.rollouts", bind=True)
def rollouts(task: Any) -> None:
    """Return rollouts whose candidate left its bounds."""
    runtime = runtime_of(task)
    rests = CheckRests(redis=runtime.parts.redis, stream=task.app.hushgate_settings.stream)
    runtime.call(watch_rollouts(runtime.parts.pool, runtime.now(), rests))
