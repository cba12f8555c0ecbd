"""FINISH calls of one worker: batched, and repeated until Redis accepts them."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog
from redis.exceptions import RedisError

from tasks.lanes.stream import EntryGrant, FinishRequest, Lanes
from worker.places import Places

log = structlog.get_logger(__name__)

FINISH_BATCH: Final = 512


FinishCall = tuple[FinishRequest, asyncio.Future[EntryGrant | None]]


class Finisher:
    """Batches the FINISH calls of one loop iteration; repeats a batch until Redis accepts it.

    While Redis accepts none, the places of ended lanes are free: other engines of the worker use them.
    """

    def __init__(self, lanes: Lanes, pause_s: float, places: Places) -> None:
        self._lanes = lanes
        self._pause_s = pause_s
        self._places = places
        self._queue: asyncio.Queue[FinishCall] = asyncio.Queue()

    async def finish(self, grant: EntryGrant, *, keep: bool) -> EntryGrant | None:
        """The lane's next entry, or None; returns only when Redis has deleted the entry."""
        future: asyncio.Future[EntryGrant | None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((FinishRequest(grant=grant, keep=keep), future))
        return await future

    async def run(self) -> None:
        """Serve ``finish`` until cancelled."""
        while True:
            batch = [await self._queue.get()]
            self._fill(batch)
            grants = await self._until_done(batch)
            for (_, future), grant in zip(batch, grants, strict=True):
                if not future.done():
                    future.set_result(grant)

    def _fill(self, batch: list[FinishCall]) -> None:
        while len(batch) < FINISH_BATCH and not self._queue.empty():
            batch.append(self._queue.get_nowait())

    async def _until_done(self, batch: list[FinishCall]) -> list[EntryGrant | None]:
        lent = 0
        try:
            while True:
                try:
                    return await self._lanes.finish([request for request, _ in batch])
                except (RedisError, OSError) as error:
                    log.warning("finish_postponed", entries=len(batch), error=type(error).__name__)
                while not self._queue.empty():  # what ended meanwhile: its places are needed too
                    batch.append(self._queue.get_nowait())
                self._places.give_back(len(batch) - lent)
                lent = len(batch)
                await asyncio.sleep(self._pause_s)
        finally:
            self._places.take(lent)
