"""``make snapshots``: takes the looks of all pages again and keeps them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from cli.stack import Stack
from db.schema import migrate
from tests.snapshots.camera import Camera, camera
from tests.snapshots.rows import Seeded, seed
from tests.snapshots.state import FILE, Look, store
from tests.support.browser.chromium import chromium
from tests.support.browser.serving import serving

NAMES: Final = (
    "start",
    "list",
    "decision",
    "queues",
    "dashboard",
    "rules",
    "author",
    "owner home",
    "owner settings",
    "connect",
    "channels",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The running pages, and the cameras of the people who look at them."""

    browser: Browser
    origin: str
    rows: Seeded
    lead: Camera
    owner: Camera


@contextmanager
def site(database_url: str, redis_url: str, rows: Seeded, folder: Path) -> Iterator[Site]:
    """Serve the seeded pages to a browser."""
    with serving(database_url, redis_url, folder / "review.log") as origin, chromium() as browser:
        lead, owner = (camera(browser, origin, person) for person in (rows.lead, rows.owner))
        yield Site(browser=browser, origin=origin, rows=rows, lead=lead, owner=owner)


def looks(pages: Site, name: str) -> Iterator[tuple[str, Look, bytes]]:
    """Name of page, size and theme; the look; the whole picture."""
    person = pages.owner if name.startswith("owner") else pages.lead
    page = person.open(pages.rows.paths[name])
    for state, look, picture in person.looks(page):
        yield f"{name} {state}", look, picture
    page.close()


def main() -> None:
    """Write every look anew."""
    with ExitStack() as stack:
        servers = stack.enter_context(Stack())
        migrate.upgrade(servers.database_url)
        rows = seed(servers.database_url)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pages = stack.enter_context(site(servers.database_url, servers.redis_url, rows, folder))
        taken = {state: look for name in NAMES for state, look, _ in looks(pages, name)}
    store(taken)
    print(f"{len(taken)} looks in {FILE}, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
