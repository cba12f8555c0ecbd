"""The job of beat that runs shadows."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from db.pool import create_pool
from tasks.lanes.stream import GROUP
from tasks.shards.backlog import load_layout
from tasks.shards.clients import connect
from trials.jobs.child import ChildNotStarted, ShadowProcess
from trials.jobs.shadow_run import ShadowLimits, ShadowRunner
from trials.store.shadows import may_run_shadows
from worker.errors import StorageUnavailable
from worker.settings import Settings

log = structlog.get_logger(__name__)

EVERY_S: Final = 2.0
"""Between two looks for decisions, in seconds."""
RETRY_S: Final = 30.0
IDLE_ROUNDS: Final = 60
"""Rounds without a decision after which the child is ended."""
MOST_WAITING: Final = 100
"""Conversations and entries that may wait for a place of a worker while shadows decide."""


async def is_loaded(redis: Redis, stream: str) -> bool:
    """Whether more than ``MOST_WAITING`` wait; True also while Redis does not answer."""
    try:
        return await _waiting(redis, stream) > MOST_WAITING
    except (RedisError, OSError) as error:
        log.warning("shadow_load_unknown", error=type(error).__name__)
        return True


async def _waiting(redis: Redis, stream: str) -> int:
    waiting = 0
    for place in (await load_layout(redis, stream)).streams():
        pipe = redis.pipeline(transaction=False)
        pipe.zcard(f"{place.shard.prefix}queue")
        pipe.xlen(place.key)
        pipe.xpending(place.key, GROUP)
        lanes, entries, read = await pipe.execute(raise_on_error=False)
        waiting += lanes if isinstance(lanes, int) else 0
        if isinstance(entries, int) and isinstance(read, dict):
            waiting += max(0, entries - int(read["pending"]))
    return waiting


async def run_shadows(settings: Settings) -> None:
    """Look for decisions until cancelled; wait where the login may not run them."""
    while True:
        try:
            await _watch(settings)
            break
        except (StorageUnavailable, ChildNotStarted) as error:
            kind = error.kind if isinstance(error, StorageUnavailable) else type(error).__name__
            log.warning("shadows_postponed", kind=kind)
        await asyncio.sleep(RETRY_S)
    await asyncio.Event().wait()


async def _watch(settings: Settings) -> None:
    child, url = ShadowProcess(), settings.database_url.get_secret_value()
    async with (
        create_pool(url, size=1, application="hushgate-shadow", role=None) as source,
        connect(settings.redis_url.get_secret_value()) as redis,
    ):
        if not await may_run_shadows(source):
            log.warning("shadows_not_run", reason="the login may not read recordings")
            return
        runner = ShadowRunner(
            source=source,
            url=url,
            role=None,
            now=lambda: datetime.now(UTC),
            child=child,
            limits=ShadowLimits(usd_a_day=settings.shadow_usd_a_day),
            settings=settings,
            loaded=lambda: is_loaded(redis, settings.stream),
        )
        try:
            await _rounds(runner, child)
        finally:
            child.close()


async def _rounds(runner: ShadowRunner, child: ShadowProcess) -> None:
    idle = 0
    while True:
        idle = 0 if await runner.round() else idle + 1
        if idle == IDLE_ROUNDS:
            child.close()
        if idle:
            await asyncio.sleep(EVERY_S)
