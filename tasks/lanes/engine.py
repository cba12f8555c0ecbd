"""The engine: one event loop that takes grants, runs them lane by lane and finishes them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final

import structlog
from redis.exceptions import RedisError

from tasks.fairness.admission import Admission
from tasks.fairness.shares import ANY_ACCOUNT, ReadPlan
from tasks.lanes.entry_watch import EntryWatch
from tasks.lanes.finisher import Finisher
from tasks.lanes.stream import EntryGrant, Lanes, ReadResult
from tasks.lanes.upkeep import EngineLimits, LaneUpkeep
from worker.cancellation import cancel_all
from worker.model import Event
from worker.places import Places

log = structlog.get_logger(__name__)

READ_BATCH: Final = 256
IDLE_BLOCK_MS: Final = 1000
READ_PAUSE_S: Final = 0.005
BUSY_PAUSE_S: Final = 0.01
"""Pause between two READs while only accounts with few lanes get more."""

Handler = Callable[[EntryGrant], Awaitable[None]]


class Engine:
    """Hosts the lanes of one worker.

    ``handle`` must return only when the entry's outcome is stored. It raises only when it cannot store an
    outcome; the error is logged, and the entry is granted again later. A ``handle`` that cancels its own task
    puts the entry back into its lane.

    Args:
        may_admit: False while a service that every event needs is down; new entries stay in the stream.
        agent_wrote: called at once for a person's message that must wait for its turn.
        places: the worker's in-flight limit where several engines share it.
        admission: shares the places by account and reads ahead; None: first come, first served.
    """

    def __init__(
        self,
        lanes: Lanes,
        handle: Handler,
        limits: EngineLimits,
        may_admit: Callable[[], bool] = lambda: True,
        agent_wrote: Callable[[Event], None] = lambda _: None,
        *,
        places: Places | None = None,
        admission: Admission | None = None,
    ) -> None:
        self._lanes = lanes
        self._handle = handle
        self._limits = limits
        self._may_admit = may_admit
        self._agent_wrote = agent_wrote
        self._places = places or Places(limits.in_flight)
        self._admission = admission
        self._finisher = Finisher(lanes, limits.redis_pause_s, self._places)
        self._running: dict[str, EntryGrant] = {}
        self._runners: set[asyncio.Task[None]] = set()
        self._draining = asyncio.Event()
        self._wake = asyncio.Event()
        self._upkeep = LaneUpkeep(lanes, limits, freed=self._wake.set)
        self._watch = EntryWatch(lanes, IDLE_BLOCK_MS)
        self._more_unread = False
        self._compare_lanes_due = True
        self._next_compare_s = 0.0

    @property
    def in_flight(self) -> int:
        """Number of running lanes."""
        return len(self._runners)

    def drain(self) -> None:
        """Stop admitting; ``run`` returns when all lanes have ended or ``drain_s`` is over."""
        self._draining.set()
        self._places.wake()
        self._wake.set()

    async def run(self) -> None:
        """Work until ``drain`` is called.

        Raises:
            Exception: a bug ended one of the jobs that keep this worker alive; its lanes are released.
        """
        work = asyncio.create_task(self._work())
        background = (self._finisher.run(), *self._upkeep.jobs())
        jobs = [work, *(asyncio.create_task(job) for job in background)]
        try:
            ended, _ = await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
            for job in ended:
                job.result()
        finally:
            self.drain()
            await cancel_all([*jobs, *self._runners])
            await self._watch.close()
            await self._leave()

    async def _work(self) -> None:
        await self._read_until_drained()
        await self._wait_for_runners()

    async def _read_until_drained(self) -> None:
        while not self._draining.is_set():
            may_admit = self._may_admit()
            reserved = self._places.reserve(READ_BATCH) if may_admit else 0
            if not reserved and not (may_admit and self._more_unread):
                await self._wait_for_room()
                continue
            try:
                await self._read_once(reserved)
            except (RedisError, OSError) as error:
                self._compare_lanes_due = True
                log.warning("read_postponed", error=type(error).__name__)
                await asyncio.sleep(self._limits.redis_pause_s)

    async def _read_once(self, reserved: int) -> None:
        """Run what one READ grants; ``reserved`` places are taken for it, and those left over given back."""
        used = 0
        try:
            if self._compare_lanes_due or asyncio.get_running_loop().time() >= self._next_compare_s:
                await self._compare_lanes()
            plan, free = self._plan(reserved), self._places.limit - self._places.taken + reserved
            result = await self._lanes.read(reserved, plan)
            used = len(result.grants)
        finally:
            self._places.give_back(reserved - used)
        self._more_unread = 0 < plan.batch <= result.entries_read
        for grant in result.grants:
            self._start(grant)
        for event in result.agent_messages:
            self._agent_wrote(event)
        excludes = plan.excludes_some(reserved)
        if not result.grants:
            await self._idle(result, free if reserved else 0, excludes=excludes)
        elif result.has_read_all and free > used and not excludes:
            await self._next_entry(result)  # without a READ that would find nothing

    async def _idle(self, result: ReadResult, free: int, *, excludes: bool) -> None:
        """Wait until another READ may grant something; ``free`` places were free at this one.

        ``excludes``: a lane may wait although a place is free.
        """
        if (excludes or not free) and not self._more_unread:
            await asyncio.sleep(BUSY_PAUSE_S)
        if free and result.has_read_all:
            await self._next_entry(result, *((self._more_places(free),) if excludes else ()))

    async def _next_entry(self, result: ReadResult, *others: Coroutine[Any, Any, None]) -> None:
        await self._watch.wait(result.last_id, self._wake, *others)

    def _plan(self, reserved: int) -> ReadPlan:
        return ANY_ACCOUNT if self._admission is None else self._admission.plan(reserved)

    async def _more_places(self, free: int) -> None:
        while self._places.limit - self._places.taken <= free:
            await self._places.wait(IDLE_BLOCK_MS / 1000)

    async def _compare_lanes(self) -> None:
        """Release lanes that Redis counts as ours but we do not run; only between two READs.

        Runs at once after a lost reply, and once per heartbeat TTL in case a READ was delivered late.
        """
        self._compare_lanes_due = False
        try:
            await self._lanes.prepare()
            await self._upkeep.beat()
            await self._lanes.release_unknown(frozenset(grant.ownership for grant in self._running.values()))
        except (RedisError, OSError):
            self._compare_lanes_due = True
            raise
        self._next_compare_s = asyncio.get_running_loop().time() + self._limits.heartbeat_ttl_s

    async def _wait_for_room(self) -> None:
        """Return when a lane ended, or when it is time to read ahead although none did."""
        if await self._places.wait(self._limits.redis_pause_s):
            await asyncio.sleep(READ_PAUSE_S)  # let more lanes end: one READ for many is cheaper
        else:
            self._more_unread = self._plan(0).batch > 0

    def _start(self, grant: EntryGrant) -> None:
        self._running[grant.lane] = grant
        account, lane = getattr(grant.event, "user_id", ""), self._run_lane(grant)
        if self._admission is not None:
            lane = self._admission.begin(account, lane)
        task = asyncio.create_task(lane)
        self._runners.add(task)
        task.add_done_callback(partial(self._ended, account))

    def _ended(self, account: str, task: asyncio.Task[None]) -> None:
        self._runners.discard(task)
        self._places.give_back()
        if self._admission is not None:
            self._admission.ended(account)
        if not task.cancelled() and (error := task.exception()):
            log.error("lane_crashed", exc_info=error)

    async def _run_lane(self, first: EntryGrant) -> None:
        grant: EntryGrant | None = first
        try:
            while grant is not None:
                self._running[first.lane] = grant
                await self._handle(grant)
                grant = await self._finisher.finish(grant, keep=not self._draining.is_set())
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if grant is None or self._draining.is_set() or task is None or task.cancelling():
                raise
            grant = await self._put_back(grant)
        finally:
            if self._running.get(first.lane, first).ownership == first.ownership:
                self._running.pop(first.lane, None)
            if grant is not None:
                self._compare_lanes_due = True

    async def _put_back(self, grant: EntryGrant) -> EntryGrant | None:
        """Release the lane of an event that must wait and has no room here; the grant when Redis is away."""
        try:
            await self._lanes.release([grant])
        except (RedisError, OSError):
            return grant
        return None

    async def _wait_for_runners(self) -> None:
        if not self._runners:
            return
        log.info("draining", in_flight=self.in_flight, seconds=self._limits.drain_s)
        _, late = await asyncio.wait(self._runners, timeout=self._limits.drain_s)
        await cancel_all(late)

    async def _leave(self) -> None:
        try:
            async with asyncio.timeout(5):
                await self._lanes.leave()
        except (RedisError, OSError, TimeoutError) as error:
            log.warning("leave_failed", error=type(error).__name__)
