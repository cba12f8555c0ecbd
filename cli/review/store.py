"""Settings and database access of the ``hushgate review`` commands."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from cli.options import database_url, usable
from db.review_store import Store
from worker import settings
from worker.settings import ReviewSettings

Value = TypeVar("Value")


def review_settings() -> ReviewSettings:
    """All settings of the review pages.

    Raises:
        ConfigurationError: something is missing or wrong; says where to look.
    """
    return usable(settings.load_review_settings)


def site() -> str:
    """The URL of the review pages for links, or empty when the environment does not set it."""
    known = usable(settings.load_site_settings)
    return known.review_url.rstrip("/") if "review_url" in known.model_fields_set else ""


def review_url() -> str:
    """The URL of the review pages, as set or by default."""
    return usable(settings.load_site_settings).review_url


def stored(change: Callable[[AsyncConnection], Awaitable[Value]]) -> Value:
    """The result of a change, in one transaction in the role of the review pages."""
    return with_store(lambda store: _in_transaction(store, change))


def with_store(work: Callable[[Store], Awaitable[Value]]) -> Value:
    """The result of work with the database."""
    url = database_url()

    async def run() -> Value:
        async with Store(url, size=1) as store:
            return await work(store)

    return asyncio.run(run())


def who() -> str:
    """The user at the command line, for the access log."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):
        return "command line"


async def _in_transaction(store: Store, change: Callable[[AsyncConnection], Awaitable[Value]]) -> Value:
    async with store.writing() as connection:
        return await change(connection)
