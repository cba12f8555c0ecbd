"""Whether decisions can be stored; while they cannot, nothing is admitted and no model is called."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

PROBE_S: Final = 0.5


class Storage:
    """Closed from the first doubt until a probe has written successfully.

    Nothing else opens it: a Postgres that answers queries may refuse writes, and a call that began
    before an outage may succeed during it.

    Args:
        probe: returns when a decision could be stored, raises ``StorageUnavailable`` when not.
        reopened: called each time it opens, to replace dead connections.
    """

    def __init__(self, probe: Callable[[], Awaitable[None]], reopened: Callable[[], Awaitable[None]]) -> None:
        self._probe = probe
        self._reopened = reopened
        self._open = asyncio.Event()
        self._open.set()
        self._doubted = asyncio.Event()
        self._why = ""
        self._outages = 0

    @property
    def is_open(self) -> bool:
        """False while decisions may not be storable."""
        return self._open.is_set()

    async def opened(self) -> None:
        """Return once decisions can be stored."""
        await self._open.wait()

    def doubt(self, why: str) -> None:
        """Close until the probe has passed; ``why`` is a short stable word for the log."""
        if self.is_open:
            self._why = why
            self._open.clear()
            self._doubted.set()

    async def outlast(self, why: str) -> bool:
        """Close, and return when open again: True after an outage, False if the first probe passed."""
        before = self._outages
        self.doubt(why)
        await self.opened()
        return self._outages > before

    async def watch(self) -> None:
        """Settle every doubt, until cancelled."""
        while True:
            await self._doubted.wait()
            await self._settle()
            self._doubted.clear()
            self._open.set()
            await self._reopened()

    async def _settle(self) -> None:
        if (problem := await self._problem()) is None:
            log.warning("storage_doubted", error=self._why)
            return
        log.error("storage_unavailable", error=self._why, probe=problem)
        while problem is not None:
            await asyncio.sleep(PROBE_S)
            problem = await self._problem()
        self._outages += 1
        log.info("storage_available")

    async def _problem(self) -> str | None:
        try:
            await self._probe()
        except StorageUnavailable as error:
            return error.kind
        return None
