"""A desk with a browser: people sit down at it, signed in, each in a context of their own."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from playwright.sync_api import Browser, Locator, Page, StorageState, ViewportSize, expect

from db.people.records import Person
from tests.support.browser.watch import Watch
from tests.support.browser.world import World
from tests.support.reviewing import PASSWORD

WIDE: Final[ViewportSize] = {"width": 1280, "height": 900}
PHONE: Final[ViewportSize] = {"width": 360, "height": 740}
ALARMING: Final = re.compile(r'"level": "(error|critical)"|csp_violation|^[\w.]*(Error|Exception)\b')
Scheme: TypeAlias = Literal["light", "dark"]
PATIENCE_MS: Final = 30_000
PICTURES: Final = Path(__file__).parents[3] / "out" / "browser"

expect.set_options(timeout=PATIENCE_MS)


@dataclass(slots=True, kw_only=True)
class Desk:
    """The browser, the pages' address, and what is in their database.

    Attributes:
        watches: of everybody who sat down since the last look.
    """

    browser: Browser
    origin: str
    world: World
    log: Path
    watches: list[Watch] = field(default_factory=list)
    _read: int = 0
    _cookies: dict[str, StorageState] = field(default_factory=dict)
    _residents: dict[str, tuple[Page, Watch]] = field(default_factory=dict)

    def stranger(self, **options: Any) -> Page:
        """A new browser context without transitions, in which nobody is signed in."""
        usual = {"base_url": self.origin, "viewport": WIDE, "locale": "en-GB", "reduced_motion": "reduce"}
        context = self.browser.new_context(**usual | options)
        context.set_default_timeout(PATIENCE_MS)
        self.watches.append(Watch(context, self.origin))
        return context.new_page()

    def sit(self, who: str, **options: Any) -> Page:
        """Somebody of the world signed in, in a context of their own; ``options`` are Playwright's."""
        if who not in self._cookies:
            page = self.stranger()
            sign_in(page, self.world.people[who])
            self._cookies[who] = page.context.storage_state()
            page.context.close()
        return self.stranger(storage_state=self._cookies[who], **options)

    def resident(
        self,
        who: str,
        *,
        viewport: ViewportSize = WIDE,
        color_scheme: Scheme = "light",
        **options: Any,
    ) -> Page:
        """A page of this person and these options that stays for the next test, with what was loaded.

        A new context costs a second of CPU. A test sits down anew where it leaves something in the browser or
        needs an unused browser.
        """
        key = repr((who, options))
        if key not in self._residents:
            page = self.sit(who, **options)
            self._residents[key] = page, self.watches.pop()
        page, watch = self._residents[key]
        self.watches.append(watch)
        page.emulate_media(color_scheme=color_scheme)
        page.set_viewport_size(viewport)
        return page

    def expect(self, *statuses: int) -> None:
        """Refusals that the test asks for, by whoever sits here."""
        for watch in self.watches:
            watch.expect(*statuses)

    def faults(self) -> list[str]:
        """What happened that must not, on pages and in the server's log; forgets it."""
        with self.log.open(encoding="utf-8") as log:
            log.seek(self._read)
            said = log.read()
            self._read = log.tell()
        found = [fault for watch in self.watches for fault in watch.faults]
        found += [line[-2000:] for line in said.splitlines() if ALARMING.search(line)]
        for watch in self.watches:
            watch.faults.clear()
        self.watches.clear()
        return found

    def leave(self) -> None:
        """Everybody goes, but residents."""
        staying = {page.context for page, _ in self._residents.values()}
        for context in self.browser.contexts:
            if context not in staying:
                context.close()


def sign_in(page: Page, person: Person) -> None:
    """Sign in with mouse and keyboard."""
    page.goto("/sign-in")
    page.get_by_label("Login").fill(person.login)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


def export(page: Page, path: str) -> Locator:
    """Ask for a CSV file of a list and wait until it is there; the link to it."""
    page.goto(path)
    page.locator("summary", has_text="Export").click()
    page.get_by_role("button", name="Export these decisions").click()
    link = page.get_by_role("link", name="Download CSV")
    expect(link).to_be_visible()
    return link


def picture(page: Page, name: str) -> None:
    """Keep what the page looks like in ``out/browser`` where ``HUSHGATE_PICTURES`` is set."""
    if not os.environ.get("HUSHGATE_PICTURES"):
        return
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", full_page=True)
