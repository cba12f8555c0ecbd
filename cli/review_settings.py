"""What commands of the review pages read from the environment, and how they reach the database."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from db.review_store import Store
from worker import settings
from worker.errors import ConfigurationError
from worker.settings import ReviewSettings

Value = TypeVar("Value")


def review_settings() -> ReviewSettings:
    """The settings.

    Raises:
        ConfigurationError: something is missing or wrong; says where to look.
    """
    try:
        return settings.review()
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}\n(hushgate config example prints every variable)") from None


def site() -> str:
    """Where the review pages are, for links, when this shell says so; else empty."""
    known = review_settings()
    return known.review_url.rstrip("/") if "review_url" in known.model_fields_set else ""


def stored(change: Callable[[AsyncConnection], Awaitable[Value]]) -> Value:
    """What a change gives, in one transaction in the role of the review pages."""
    return with_store(lambda store: _in_transaction(store, change))


def with_store(work: Callable[[Store], Awaitable[Value]]) -> Value:
    """What some work with the database gives."""
    url = review_settings().database_url.get_secret_value()

    async def run() -> Value:
        async with Store(url, size=1) as store:
            return await work(store)

    return asyncio.run(run())


def who() -> str:
    """Who is at the command line, for the access log."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):
        return "command line"


async def _in_transaction(store: Store, change: Callable[[AsyncConnection], Awaitable[Value]]) -> Value:
    async with store.writing() as connection:
        return await change(connection)
