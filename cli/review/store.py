"""Settings and database access of the ``hushgate review`` commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from cli.options import database_url, settings_of
from db.connection import Connection
from db.pool import check_reachable
from db.review_store import Store
from worker.settings import SiteSettings

Value = TypeVar("Value")


def site_url() -> str:
    """The URL of the review pages for links, or empty when the environment does not set it."""
    known = settings_of(SiteSettings)
    return known.review_url.rstrip("/") if "review_url" in known.model_fields_set else ""


def stored(change: Callable[[Connection], Awaitable[Value]]) -> Value:
    """The result of a change, in one transaction in the role of the review pages."""

    async def run(store: Store) -> Value:
        async with store.writing() as connection:
            return await change(connection)

    return with_store(run)


def with_store(work: Callable[[Store], Awaitable[Value]]) -> Value:
    """The result of work with the database in the role of the review pages.

    Raises:
        StorageUnavailable: the server does not answer, or refuses the login.
    """
    url = database_url()

    async def run() -> Value:
        await check_reachable(url)
        async with Store(url, size=1) as store:
            return await work(store)

    return asyncio.run(run())
