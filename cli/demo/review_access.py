"""The address of the review pages on this machine, and a link that signs in once."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cli.demo import sample_reviewers
from cli.deployment import loopback
from cli.stack import data_folder
from cli.stack.fleet import GATEWAY, REVIEW, Fleet
from cli.stack.start_watch import StartWatch
from db.connection import Connection
from db.people import api_tokens
from db.people.api_tokens import TokenScope
from db.people.first_steps import NAMED_BY_UP
from db.review_store import Store
from review.auth.api_tokens import store_new_token
from review.auth.sign_in_links import new_sign_in_link

TOKEN_LIFE: Final = timedelta(days=7)
TOKEN_LEFT: Final = timedelta(days=1)
"""A kept token that ends earlier is replaced."""
ADD_YOURSELF: Final = "hushgate review add-person LOGIN --role account_admin --role lead"
"""For a database that is not ours: the demo adds no person to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAccess:
    """The address of the pages, and a link that signs in once; None when the database is the caller's."""

    address: str
    link: str | None

    def lines(self) -> tuple[str, ...]:
        """The access as text for a person."""
        if self.link is None:
            return (f"review pages  {self.address}", f"to sign in    {ADD_YOURSELF}")
        return (
            f"review pages  {self.address}",
            f"sign in       {self.link}",
            "              once, within 15 minutes, as a person with every role",
        )


def await_pages(running: Fleet, say: Callable[[str], None]) -> None:
    """Wait until the review pages answer, as long as their process lives and makes progress.

    Raises:
        ConfigurationError: a process ended or is stuck; the message has its last lines.
    """
    watch = StartWatch(running, (REVIEW,), f"the review pages at {running.review_url}", say)
    _await(watch, lambda: running.review_answers)


def await_gateway(running: Fleet, say: Callable[[str], None]) -> None:
    """Wait until the gateway answers, in the same way."""
    watch = StartWatch(running, (GATEWAY,), f"the gateway at {running.gateway_url}", say)
    _await(watch, lambda: loopback.status(f"{running.gateway_url}/healthz") == 200)


def _await(watch: StartWatch, answers: Callable[[], bool]) -> None:
    watch.look()
    while not answers():
        watch.look()
        time.sleep(0.1)


async def new_review_access(running: Fleet) -> ReviewAccess:
    """A new sign-in link; the link before it ends."""
    if not running.owns_database:
        return ReviewAccess(address=running.review_url, link=None)
    async with Store(running.stack.database_url, size=1) as store:
        async with store.writing() as connection:
            await sample_reviewers.add_demo_person(connection)
        link = await new_sign_in_link(
            store,
            sample_reviewers.PERSON,
            review_url=running.review_url,
            now=datetime.now(UTC),
            made_by="hushgate demo",
        )
    return ReviewAccess(address=running.review_url, link=link)


async def api_token(running: Fleet) -> str | None:
    """A token of the same person for all but reviews and answers; None for the caller's database.

    With a folder of data it is that of the last start, so that exports stay true, unless it ends soon.
    """
    if not running.owns_database:
        return None
    now = datetime.now(UTC)
    async with Store(running.stack.database_url, size=1) as store, store.writing() as connection:
        kept = data_folder.api_token(running.data) if running.data else ""
        found = await api_tokens.use_token(connection, kept, now)
        if found is not None and found[0].expires_at > now + TOKEN_LEFT:
            return kept
        token = await _new_api_token(connection, now)
    if running.data:
        data_folder.keep_api_token(running.data, token)
    return token


async def _new_api_token(connection: Connection, now: datetime) -> str:
    token, _ = await store_new_token(
        connection,
        await sample_reviewers.add_demo_person(connection),
        name=f"{NAMED_BY_UP}{now:%Y-%m-%d %H:%M}",
        lasts=TOKEN_LIFE,
        scopes=(TokenScope.PUBLISH, TokenScope.CHECK, TokenScope.READ, TokenScope.MANAGE),
        now=now,
    )
    return token


async def add_sample_reviews(running: Fleet) -> None:
    """Add reviews by invented reviewers, when the database is ours."""
    if running.owns_database:
        async with Store(running.stack.database_url, size=1) as store:
            await sample_reviewers.add_reviews(store)


def on_terminal() -> bool:
    """True when a person can read the address and press Enter."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def enter_pressed() -> bool:
    """Whether a line was typed since the last call."""
    return (
        sys.stdin.isatty() and bool(select.select([sys.stdin], [], [], 0)[0]) and bool(sys.stdin.readline())
    )
