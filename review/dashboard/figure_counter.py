"""Keeps the figures up to date while the server runs, and on request of a page."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from db.figures import hourly
from review.http.visit import Site
from worker.errors import StorageUnavailable

log = structlog.get_logger(__name__)

IDLE_S: Final = 30.0
"""Pause between rounds when nothing is due."""
PAGE_S: Final = 0.5
"""Longest wait of a page for the loop before it shows the stored figures."""


async def run_counter(site: Site) -> None:
    """Count due hours, newest first, and sweep expired ones; pause after a round for as long as it took."""
    while True:
        site.rounds.requested.clear()
        started = time.monotonic()
        try:
            async with site.store.writing() as connection:
                filled = await hourly.fill_next(connection, now=site.now())
                idle = filled is None and await hourly.sweep_next(connection) is None
        except StorageUnavailable as error:
            log.warning("figures_behind", kind=error.kind)
            await asyncio.sleep(IDLE_S)
            continue
        if idle:
            await site.rounds.end(IDLE_S)
        elif not site.rounds.pages:
            await asyncio.sleep(min(IDLE_S, time.monotonic() - started))


async def catch_up(site: Site) -> None:
    """Wait up to ``PAGE_S`` for the loop to count due hours; the loop continues afterwards."""
    await site.rounds.wait(PAGE_S)
