"""A scripted reviewer: works through a queue by keyboard alone and counts its keys and seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from playwright.sync_api import Page

from db.connection import Connection
from db.reviews import queues
from db.reviews.queues import NewQueue, QueueKind
from tests.support.reviewing import stored

TIMING: Final = """() => {
    const entry = performance.getEntriesByType("navigation")[0];
    return [entry.responseEnd - entry.startTime, entry.loadEventEnd - entry.responseEnd];
}"""
EVERY: Final = 3
"""Every third item is overturned, the others are agreed with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """One item.

    Attributes:
        keys: pressed for it.
        server_s: from the last key's request to the end of the next page, with the redirect.
        browser_s: from there until the next page is loaded.
    """

    decision_id: str
    ruling: str
    keys: int
    server_s: float
    browser_s: float


@dataclass(slots=True, kw_only=True)
class Keys:
    """The keyboard of a page, counted."""

    page: Page
    pressed: int = 0

    def press(self, key: str) -> None:
        """One key."""
        self.pressed += 1
        self.page.keyboard.press(key)


@dataclass(slots=True, kw_only=True)
class Reviewer:
    """The reviewer at an item of a queue."""

    page: Page
    ruled: list[Ruled] = field(default_factory=list)

    def work(self, items: int) -> None:
        """Rule on this many items, one after the other."""
        for number in range(items):
            self._rule("overturn" if number % EVERY == EVERY - 1 else "agree")

    def _rule(self, ruling: str) -> None:
        here, keys = self.page.url, Keys(page=self.page)
        keys.press("2" if ruling == "overturn" else "1")
        if ruling == "overturn":
            reason = self.page.locator("#review-form input[name=reason]").first
            keys.press(str(reason.get_attribute("data-key")))
        begun = time.perf_counter()
        keys.press("Enter")
        self.page.wait_for_url(lambda url: url != here, wait_until="load")
        took = time.perf_counter() - begun
        server_ms, browser_ms = self.page.evaluate(TIMING)
        share = server_ms / (server_ms + browser_ms)
        self.ruled.append(
            Ruled(
                decision_id=here.partition("?")[0].rsplit("/", 1)[1],
                ruling=ruling,
                keys=keys.pressed,
                server_s=took * share,
                browser_s=took * (1 - share),
            )
        )


def queue_of(url: str, name: str, decisions: Mapping[UUID, Any]) -> UUID:
    """A new queue with these decisions, without golden items and second readings."""
    opening = NewQueue(name=name, kind=QueueKind.HAND, golden_share=0.0, second_share=0.0)
    now = datetime.now(UTC)

    async def created(connection: Connection) -> UUID:
        queue_id = await queues.create_queue(connection, opening, created_by="t", now=now)
        await queues.add_decisions(connection, queue_id, dict(decisions), accounts=None, now=now)
        return queue_id

    with ThreadPoolExecutor(1) as beside_the_browser:  # whose event loop is this thread's
        return beside_the_browser.submit(stored, url, created).result()
