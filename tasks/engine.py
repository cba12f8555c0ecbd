"""The engine: one event loop that takes grants, runs them lane by lane and finishes them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import structlog
from redis.exceptions import RedisError, ResponseError

from tasks.stream import FinishRequest, Grant, Lanes

log = structlog.get_logger(__name__)

READ_BATCH: Final = 256
FINISH_BATCH: Final = 512
IDLE_BLOCK_MS: Final = 1000
READ_PAUSE_S: Final = 0.005

Handler = Callable[[Grant], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLimits:
    """What one engine may take on.

    Attributes:
        in_flight: lanes that run at once; beyond it nothing more is admitted.
        heartbeat_ttl_s: after this long without a sign of life the lanes go to others.
        drain_s: how long a warm shutdown waits for what runs.
        redis_pause_s: pause after a failed Redis call.
    """

    in_flight: int = 1000
    heartbeat_ttl_s: float = 10.0
    drain_s: float = 25.0
    redis_pause_s: float = 0.5


class Finisher:
    """Gathers FINISH calls of one loop turn into one round trip; repeats them until Redis took them."""

    def __init__(self, lanes: Lanes, pause_s: float) -> None:
        self._lanes = lanes
        self._pause_s = pause_s
        self._queue: asyncio.Queue[tuple[FinishRequest, asyncio.Future[Grant | None]]] = asyncio.Queue()

    async def finish(self, grant: Grant, *, keep: bool) -> Grant | None:
        """The lane's next entry, or None; returns only when Redis has forgotten the entry."""
        future: asyncio.Future[Grant | None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((FinishRequest(grant=grant, keep=keep), future))
        return await future

    async def run(self) -> None:
        """Serve ``finish`` until cancelled."""
        while True:
            batch = [await self._queue.get()]
            while len(batch) < FINISH_BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            grants = await self._until_done([request for request, _ in batch])
            for (_, future), grant in zip(batch, grants, strict=True):
                if not future.done():
                    future.set_result(grant)

    async def _until_done(self, requests: list[FinishRequest]) -> list[Grant | None]:
        while True:
            try:
                return await self._lanes.finish(requests)
            except (RedisError, OSError) as error:
                log.warning("finish_postponed", entries=len(requests), error=type(error).__name__)
                await asyncio.sleep(self._pause_s)


class Engine:
    """Hosts the lanes of one worker.

    ``handle`` must return only when the entry's outcome is stored; it must not raise for anything it can
    store as an outcome. What it raises is logged, and the entry is handed out again later.

    Args:
        lanes: this worker's view of the stream.
        handle: runs one entry.
        limits: see ``EngineLimits``.
        may_admit: False while something every event needs is down; the stream then holds the rest.
    """

    def __init__(
        self,
        lanes: Lanes,
        handle: Handler,
        limits: EngineLimits,
        may_admit: Callable[[], bool] = lambda: True,
    ) -> None:
        self._lanes = lanes
        self._handle = handle
        self._limits = limits
        self._may_admit = may_admit
        self._finisher = Finisher(lanes, limits.redis_pause_s)
        self._running: dict[str, Grant] = {}
        self._runners: set[asyncio.Task[None]] = set()
        self._draining = asyncio.Event()
        self._room = asyncio.Event()
        self._beats_in_a_row = 0
        self._reply_lost = True
        self._next_audit_s = 0.0

    @property
    def in_flight(self) -> int:
        """Lanes that run right now."""
        return len(self._runners)

    def drain(self) -> None:
        """Admit nothing more; ``run`` returns when what runs has ended or ``drain_s`` is over."""
        self._draining.set()
        self._room.set()

    async def run(self) -> None:
        """Work until ``drain`` is called.

        Raises:
            Exception: a bug ended one of the jobs that keep this worker alive; its lanes are given back.
        """
        work = asyncio.create_task(self._work())
        jobs = [work, *(asyncio.create_task(job) for job in self._keepers())]
        try:
            ended, _ = await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
            for job in ended:
                job.result()
        finally:
            self.drain()
            for task in (*jobs, *self._runners):
                task.cancel()
            await asyncio.gather(*jobs, *self._runners, return_exceptions=True)
            await self._leave()

    async def _work(self) -> None:
        await self._read_until_drained()
        await self._wait_for_runners()

    def _keepers(self) -> tuple[Coroutine[Any, Any, None], ...]:
        ttl_s = self._limits.heartbeat_ttl_s
        return (
            self._finisher.run(),
            self._every(ttl_s / 4, self._beat),
            self._every(ttl_s / 2, self._reap),
            self._every(ttl_s, self._repair_page()),
        )

    async def _read_until_drained(self) -> None:
        while not self._draining.is_set():
            if not self._may_admit() or self.in_flight >= self._limits.in_flight:
                await self._wait_for_room()
                continue
            try:
                await self._read_once()
            except (RedisError, OSError) as error:
                self._reply_lost = True
                log.warning("read_postponed", error=type(error).__name__)
                await self._recover(error)

    async def _read_once(self) -> None:
        if self._reply_lost or asyncio.get_running_loop().time() >= self._next_audit_s:
            await self._audit()
        free = self._limits.in_flight - self.in_flight
        result = await self._lanes.read(min(free, READ_BATCH))
        for grant in result.grants:
            self._start(grant)
        if not result.grants and not result.entries_read:
            await self._idle(result.last_id)

    async def _audit(self) -> None:
        """Give back what Redis thinks we run and we do not; only between READs, when no reply is on its way.

        At once after a lost reply, and once a heartbeat's life for a READ that a network delivered late.
        """
        self._reply_lost = False
        try:
            await self._lanes.prepare()
            await self._beat()
            await self._lanes.release_unknown(frozenset(grant.ownership for grant in self._running.values()))
        except (RedisError, OSError):
            self._reply_lost = True
            raise
        self._next_audit_s = asyncio.get_running_loop().time() + self._limits.heartbeat_ttl_s

    async def _idle(self, last_id: str) -> None:
        waiter = asyncio.ensure_future(self._lanes.wait_for_entries(last_id, IDLE_BLOCK_MS))
        stopper = asyncio.ensure_future(self._draining.wait())
        try:
            await asyncio.wait({waiter, stopper}, return_when=asyncio.FIRST_COMPLETED)
            if waiter.done():
                waiter.result()
        finally:
            waiter.cancel()
            stopper.cancel()
            await asyncio.gather(waiter, stopper, return_exceptions=True)

    async def _wait_for_room(self) -> None:
        self._room.clear()
        try:
            async with asyncio.timeout(self._limits.redis_pause_s):
                await self._room.wait()
        except TimeoutError:
            return
        await asyncio.sleep(READ_PAUSE_S)  # let more lanes end: one READ for many is cheaper

    async def _recover(self, error: Exception) -> None:
        if isinstance(error, ResponseError) and "NOGROUP" in str(error):
            return
        await asyncio.sleep(self._limits.redis_pause_s)

    def _start(self, grant: Grant) -> None:
        self._running[grant.lane] = grant
        task = asyncio.create_task(self._run_lane(grant))
        self._runners.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._runners.discard(task)
        self._room.set()
        if not task.cancelled() and (error := task.exception()):
            log.error("lane_crashed", exc_info=error)

    async def _run_lane(self, first: Grant) -> None:
        grant: Grant | None = first
        try:
            while grant is not None:
                self._running[first.lane] = grant
                await self._handle(grant)
                grant = await self._finisher.finish(grant, keep=not self._draining.is_set())
        finally:
            if self._running.get(first.lane, first).ownership == first.ownership:
                self._running.pop(first.lane, None)
            if grant is not None:
                self._reply_lost = True

    async def _wait_for_runners(self) -> None:
        if not self._runners:
            return
        log.info("draining", in_flight=self.in_flight, seconds=self._limits.drain_s)
        _, late = await asyncio.wait(self._runners, timeout=self._limits.drain_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _leave(self) -> None:
        try:
            async with asyncio.timeout(5):
                await self._lanes.leave()
        except (RedisError, OSError, TimeoutError) as error:
            log.warning("leave_failed", error=type(error).__name__)

    async def _every(self, period_s: float, job: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(period_s)
            try:
                await job()
            except (RedisError, OSError) as error:
                self._beats_in_a_row = 0
                log.warning("upkeep_postponed", error=type(error).__name__)

    async def _beat(self) -> None:
        await self._lanes.heartbeat(int(self._limits.heartbeat_ttl_s * 1000))
        self._beats_in_a_row += 1

    async def _reap(self) -> None:
        # After an outage of Redis every heartbeat has expired: all get one TTL to come back first.
        if self._beats_in_a_row < 5:
            return
        freed, dead = await self._lanes.reap()
        if dead:
            log.warning("workers_reaped", workers=list(dead), lanes=freed)

    def _repair_page(self) -> Callable[[], Awaitable[None]]:
        cursor = "-"

        async def page() -> None:
            nonlocal cursor
            cursor, mended = await self._lanes.repair(cursor)
            if mended:
                log.warning("entries_repaired", entries=mended)

        return page
