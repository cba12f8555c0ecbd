"""How somebody gets to the review pages of this machine: their address, and a link that signs in once."""

from __future__ import annotations

import select
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cli.demo import readers
from cli.demo.fleet import Fleet
from db.review_store import Store
from review.people.links import sign_in_link
from worker.errors import ConfigurationError

START_S: Final = 60.0
ADD_YOURSELF: Final = "hushgate review add-person LOGIN --role account_admin --role lead"
"""For a database that is not ours: nobody is let in there without being asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WayIn:
    """Where the pages are, and a link that signs in once; None where the database is the caller's own."""

    address: str
    link: str | None

    def lines(self) -> tuple[str, ...]:
        """What a person is told."""
        if self.link is None:
            return (f"review pages  {self.address}", f"to sign in    {ADD_YOURSELF}")
        return (
            f"review pages  {self.address}",
            f"sign in       {self.link}",
            "              once, within a quarter of an hour, as somebody with every role",
        )


def await_pages(running: Fleet) -> None:
    """Wait until the review pages answer.

    Raises:
        ConfigurationError: they do not; the server's last words say why.
    """
    deadline = time.monotonic() + START_S
    while not running.review_answers:
        if (last_words := running.died()) is not None:
            raise ConfigurationError(last_words)
        if time.monotonic() > deadline:
            raise ConfigurationError(
                f"the review pages at {running.review_url} did not answer in {START_S:.0f} s"
            )
        time.sleep(0.1)


async def way_in(running: Fleet) -> WayIn:
    """A new link; the one before it ends."""
    if not running.owns_database:
        return WayIn(address=running.review_url, link=None)
    async with Store(running.stack.database_url, size=1) as store:
        await readers.admit(store)
        link = await sign_in_link(
            store,
            readers.PERSON,
            review_url=running.review_url,
            now=datetime.now(UTC),
            made_by="hushgate demo",
        )
    return WayIn(address=running.review_url, link=link)


async def furnish(running: Fleet) -> None:
    """Reviews by invented colleagues, where the database is ours."""
    if running.owns_database:
        async with Store(running.stack.database_url, size=1) as store:
            await readers.read_some(store)


def somebody_sits_there() -> bool:
    """True when there is a person who sees the address and can press a key."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def enter_pressed() -> bool:
    """Whether a line was typed since the last look."""
    return (
        sys.stdin.isatty() and bool(select.select([sys.stdin], [], [], 0)[0]) and bool(sys.stdin.readline())
    )
