"""What the server does beside answering: jobs, figures, sweeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from review import jobs
from review.figures import counting
from review.people import sweeping
from review.web import Site

TASKS: Final[tuple[Callable[[Site], Awaitable[None]], ...]] = (jobs.run, counting.run, sweeping.run)
"""Loops that run as long as the server; each looks after its own errors."""


@asynccontextmanager
async def background(site: Site) -> AsyncIterator[None]:
    """Run the loops; end them with the server."""
    running = [asyncio.ensure_future(loop(site)) for loop in TASKS]
    try:
        yield
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
