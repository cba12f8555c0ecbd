"""Background jobs that start again after a bug, so that none of them stands still unnoticed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

log = structlog.get_logger(__name__)

RESTART_S: Final = 1.0

JobFailed = Callable[[str, Exception], None]
"""Called with the name of the job and its error."""


def unreported(_name: str, _error: Exception) -> None:
    """For processes that log bugs only."""


async def restarted(name: str, job: Callable[[], Awaitable[None]], failed: JobFailed) -> None:
    """Run an endless job until cancelled; a bug, or its end, is reported and it starts again."""
    while True:
        if await _is_done(name, job, failed):
            log.error("job_ended_early", job=name)
        await asyncio.sleep(RESTART_S)


async def repeated(name: str, job: Callable[[], Awaitable[None]], failed: JobFailed) -> None:
    """Run a job that ends, once; a bug is reported and it starts again."""
    while True:
        if await _is_done(name, job, failed):
            return
        await asyncio.sleep(RESTART_S)


async def _is_done(name: str, job: Callable[[], Awaitable[None]], failed: JobFailed) -> bool:
    try:
        await job()
    except Exception as error:  # a bug in one job must not end the others
        log.exception("job_failed", job=name, exc_info=error)
        failed(name, error)
        return False
    return True
