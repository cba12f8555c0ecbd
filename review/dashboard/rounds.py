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
        asked: set by a page, cleared by the loop at the start of a round.
        counted: set after a round that found nothing more to count and began after the last page had asked.
    """

    pages: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    counted: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, most_s: float) -> None:
        """Wait until all due hours are counted, at most ``most_s`` seconds."""
        self.counted.clear()
        self.asked.set()
        self.pages += 1
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.counted.wait(), most_s)
        finally:
            self.pages -= 1

    def begin(self) -> None:
        """A round of the loop begins."""
        self.asked.clear()

    async def end(self, idle_s: float) -> None:
        """A round found nothing to count: notify pages, then pause until a page asks, at most ``idle_s``."""
        if not self.asked.is_set():
            self.counted.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.asked.wait(), idle_s)
