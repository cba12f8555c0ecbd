"""Background tasks of the server: jobs, figures, sweeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from review import job_runner, login_rights
from review.auth import expiry_sweep
from review.dashboard import figure_counter
from review.http.visit import Site
from review.queues import queue_filler
from worker.cancellation import cancel_all

TASKS: Final[tuple[Callable[[Site], Awaitable[None]], ...]] = (
    job_runner.run_jobs,
    figure_counter.run_counter,
    expiry_sweep.run_sweeps,
    login_rights.run,
    queue_filler.run,
)
"""Tasks that run while the server runs; each handles its own errors."""


@asynccontextmanager
async def run_background(site: Site) -> AsyncIterator[None]:
    """Run the loops; end them with the server."""
    running = [asyncio.ensure_future(loop(site)) for loop in TASKS]
    try:
        yield
    finally:
        await cancel_all(running)
