"""FINISH calls of one worker: batched, and repeated until Redis accepts them."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog
from redis.exceptions import RedisError

from tasks.stream import EntryGrant, FinishRequest, Lanes

log = structlog.get_logger(__name__)

FINISH_BATCH: Final = 512


class Finisher:
    """Batches the FINISH calls of one loop iteration; repeats a batch until Redis accepts it."""

    def __init__(self, lanes: Lanes, pause_s: float) -> None:
        self._lanes = lanes
        self._pause_s = pause_s
        self._queue: asyncio.Queue[tuple[FinishRequest, asyncio.Future[EntryGrant | None]]] = asyncio.Queue()

    async def finish(self, grant: EntryGrant, *, keep: bool) -> EntryGrant | None:
        """The lane's next entry, or None; returns only when Redis has deleted the entry."""
        future: asyncio.Future[EntryGrant | None] = asyncio.get_running_loop().create_future()
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

    async def _until_done(self, requests: list[FinishRequest]) -> list[EntryGrant | None]:
        while True:
            try:
                return await self._lanes.finish(requests)
            except (RedisError, OSError) as error:
                log.warning("finish_postponed", entries=len(requests), error=type(error).__name__)
                await asyncio.sleep(self._pause_s)
