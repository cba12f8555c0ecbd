"""Files whose age tells a probe how a worker is, without the cost of starting Python."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import structlog

log = structlog.get_logger(__name__)

PERIOD_S: Final = 5.0
READY_SUFFIX: Final = ".ready"
ASKED_S: Final = 4.0
"""A server that does not answer in this time is away."""


async def keep_files(file: Path, ready: Callable[[], Awaitable[bool]], *, period_s: float = PERIOD_S) -> None:
    """Touch ``file`` while the event loop runs, and ``file`` with ``.ready`` while the worker can work.

    An outage of Redis or Postgres must not restart workers, so only the second file depends on them. Until
    cancelled; then both files are removed.
    """
    beside = file.with_name(file.name + READY_SUFFIX)
    failed = False
    try:
        while True:
            try:
                file.touch()  # noqa: ASYNC240  # in memory or on a local disk; a thread would hide a blocked loop
                if await _answer(ready):
                    beside.touch()  # the same
                failed = False
            except OSError as error:
                if not failed:
                    log.warning("heartbeat_file_failed", error=type(error).__name__, file=str(file))
                failed = True
            await asyncio.sleep(period_s)
    finally:
        for each in (file, beside):
            each.unlink(missing_ok=True)


async def _answer(ready: Callable[[], Awaitable[bool]]) -> bool:
    try:
        async with asyncio.timeout(ASKED_S):
            return await ready()
    except Exception as error:  # noqa: BLE001  # whatever it is, the worker is not ready
        log.debug("worker_not_ready", error=type(error).__name__)
        return False
