"""Background work that never ends silently: bugs are logged and reported, endless loops start again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import structlog

from worker.cancellation import cancel_all

log = structlog.get_logger(__name__)

RESTART_S: Final = 1.0

JobFailed = Callable[[str, Exception], None]
"""Called with the name of the job and its error."""


def unreported(_name: str, _error: Exception) -> None:
    """For processes that log bugs only."""


class Supervisor:
    """The background work of one owner, such as a worker or the review server, until ``close``."""

    def __init__(self, failed: JobFailed = unreported) -> None:
        self._failed = failed
        self.running: set[asyncio.Task[None]] = set()

    def loop(self, name: str, job: Callable[[], Awaitable[None]]) -> None:
        """Run an endless job, and start it again after a bug or its end."""
        self._start(self._restarted(name, job))

    def once(self, name: str, job: Callable[[], Awaitable[None]]) -> None:
        """Run a job, again after each bug, until one run succeeds."""
        self._start(self._repeated(name, job))

    def start(self, name: str, job: Callable[[], Awaitable[None]], **ids: object) -> None:
        """Run one piece of work, which is not repeated; ``ids`` are logged with a bug."""
        self._start(self._succeeds(name, job, **ids))

    async def close(self) -> None:
        """End all of it."""
        await cancel_all(self.running)

    def _start(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(work)
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def _restarted(self, name: str, job: Callable[[], Awaitable[None]]) -> None:
        while True:
            if await self._succeeds(name, job):
                log.error("job_ended_early", job=name)
            await asyncio.sleep(RESTART_S)

    async def _repeated(self, name: str, job: Callable[[], Awaitable[None]]) -> None:
        while True:
            if await self._succeeds(name, job):
                return
            await asyncio.sleep(RESTART_S)

    async def _succeeds(self, name: str, job: Callable[[], Awaitable[None]], **ids: object) -> bool:
        try:
            await job()
        except Exception as error:  # a bug in one job must not end the others
            log.exception("job_failed", job=name, exc_info=error, **ids)
            self._failed(name, error)
            return False
        return True
