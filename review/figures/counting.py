"""Keeping the figures up to date while the server runs, and catching up when a page finds them behind."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from db import hourly
from review.web import Site
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

IDLE_S: Final = 30.0
"""Between rounds when nothing is due."""
PAGE_S: Final = 0.5
"""Longest that a page counts for itself before it shows what there is."""
CANCELLED: Final = "QueryCanceled"


async def run(site: Site) -> None:
    """Count what is due, newest first, sweep what is outlived; rest as long as it took, for pages."""
    while True:
        started = time.monotonic()
        try:
            async with site.store.writing() as connection:
                filled = await hourly.fill_next(connection, now=site.now())
                idle = filled is None and await hourly.sweep_next(connection) is None
            pause = IDLE_S if idle else min(IDLE_S, time.monotonic() - started)
        except StorageUnavailable as error:
            log.warning("figures_behind", kind=error.kind)
            pause = IDLE_S
        await asyncio.sleep(pause)


async def catch_up(site: Site) -> None:
    """Count for a moment; what is not done by then is left to the loop."""
    end = time.monotonic() + PAGE_S
    try:
        while (left := end - time.monotonic()) > 0:
            async with site.store.writing() as connection:
                if await hourly.fill_next(connection, now=site.now(), most_s=left) is None:
                    return
    except StorageUnavailable as error:
        if error.kind != CANCELLED:
            raise
