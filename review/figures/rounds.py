"""How a page requests figures from the counting loop and waits for them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Rounds:
    """Signals between pages and the loop.

    Attributes:
        pages: number of waiting pages; the loop does not pause meanwhile.
        requested: set by a page, cleared by the loop at the start of a round.
        complete: set after a round that found nothing to count and began after the last page's request.
    """

    pages: int = 0
    requested: asyncio.Event = field(default_factory=asyncio.Event)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, most_s: float) -> None:
        """Wait until all due hours are counted, at most ``most_s`` seconds."""
        self.complete.clear()
        self.requested.set()
        self.pages += 1
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.complete.wait(), most_s)
        finally:
            self.pages -= 1

    async def end(self, idle_s: float) -> None:
        """A round found nothing to count: notify pages, then pause until a request, at most ``idle_s``."""
        if not self.requested.is_set():
            self.complete.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.requested.wait(), idle_s)
