"""Shared by several commands: settings, times, and reads of the audit."""

from __future__ import annotations

import asyncio
import getpass
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sized
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import Final, TypeVar

from redis.asyncio import Redis

from cli.output import fail
from db.audit.decision_list import read_connection
from db.audit.list_connection import list_connection
from db.connection import Connection
from db.model_servers.stored import with_stored_servers
from db.pool import Pool, check_reachable, create_pool
from review.typed import moments
from tasks.shards.clients import connect
from worker.errors import ConfigurationError
from worker.settings import (
    DatabaseSettings,
    Environment,
    OutgoingStreamSettings,
    Settings,
    StreamSettings,
    load,
    require_models,
)

Known = TypeVar("Known", bound=Environment)
Value = TypeVar("Value")
Word = TypeVar("Word", bound=StrEnum)
REACH_S: Final = 10.0


def settings_of(kind: type[Known]) -> Known:
    """The settings of a class, from the environment of this shell.

    Raises:
        ConfigurationError: a variable is missing or wrong.
    """
    try:
        return load(kind)
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}\n(hushgate config example --all prints every variable)") from None


def model_settings() -> Settings:
    """The settings of a worker with the model servers that are connected on the pages.

    Raises:
        ConfigurationError: a variable is missing or wrong, or a role has no server.
    """
    known = settings_of(Settings)
    connected = with_pool(partial(with_stored_servers, known), known.database_url.get_secret_value())
    require_models(connected)
    return connected


def require_settings(*kinds: type[Environment]) -> None:
    """Return when every class can be read; all problems are reported together.

    Raises:
        ConfigurationError: a variable is missing or wrong.
    """
    lines: dict[str, None] = {}
    for kind in kinds:
        try:
            settings_of(kind)
        except ConfigurationError as error:
            *problems, hint = str(error).splitlines()
            lines |= dict.fromkeys(problems)
    if lines:
        raise ConfigurationError("\n".join((*lines, hint)))


def database_url() -> str:
    """DATABASE_URL of this shell; a command that asks for it needs no other variable."""
    return settings_of(DatabaseSettings).database_url.get_secret_value()


def stream_settings() -> StreamSettings:
    """REDIS_URL of this shell with the names of the streams; needs no other variable."""
    return settings_of(StreamSettings)


def read_audit(read: Callable[[Connection], Awaitable[Value]]) -> Value:
    """What ``read`` returns for a connection to the database of this shell."""
    url = database_url()

    async def run() -> Value:
        async with read_connection(url) as connection:
            return await read(connection)

    return asyncio.run(run())


def read_lists(read: Callable[[Connection], Awaitable[Value]]) -> Value:
    """What ``read`` returns for a connection to the replica of this shell, to the database without one."""
    settings = settings_of(DatabaseSettings)
    url, replica = settings.database_url.get_secret_value(), settings.read_database_url

    async def run() -> Value:
        replica_url = replica.get_secret_value() if replica else None
        async with list_connection(url, replica_url=replica_url) as connection:
            return await read(connection)

    return asyncio.run(run())


def with_pool(call: Callable[[Pool], Awaitable[Value]], url: str | None = None) -> Value:
    """What ``call`` returns for connections to the database at ``url``, or to this shell's database."""
    url = url or database_url()

    async def run() -> Value:
        async with own_connections(url) as source:
            return await call(source)

    return asyncio.run(run())


def note_misspelt(found: Sized, account: str | None) -> None:
    """Name an account without settings of which nothing was found: its name may be misspelt."""
    if account and not found:
        module = import_module("cli.accounts.store_account")  # it takes a command 0.2 s to load
        with_pool(lambda source: module.warn_without_settings(source, account))


def with_redis(
    settings: StreamSettings | OutgoingStreamSettings, call: Callable[[Redis], Awaitable[Value]]
) -> Value:
    """What ``call`` returns for a client of the Redis in ``settings``."""

    async def run() -> Value:
        async with connect(settings.redis_url.get_secret_value(), timeout_s=REACH_S) as redis:
            return await call(redis)

    return asyncio.run(run())


@asynccontextmanager
async def own_connections(url: str) -> AsyncIterator[Pool]:
    """Two connections with the login's own role.

    Raises:
        StorageUnavailable: the server does not answer, or refuses the login.
    """
    await check_reachable(url)
    async with create_pool(url, size=2, application="hushgate-cli", role=None) as source:
        yield source


def time_of(option: str, text: str | None) -> datetime | None:
    """``2026-11-21T10:00Z``, ``2026-11-21``, or an age such as ``15m``, ``7d``; UTC without offset."""
    if text is None:
        return None
    try:
        return moments.moment(text, datetime.now(UTC))
    except ValueError as error:
        raise fail(
            f"{option}: expected a time such as 2026-11-21T10:00Z or an age such as 24h, got {text!r}"
        ) from error


def words_of(option: str, text: str, known: type[Word]) -> tuple[Word, ...]:
    """The words between commas, each once."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if unknown := [word for word in words if word not in frozenset(known)]:
        raise fail(f"{option}: expected some of {', '.join(known)}, got {unknown[0]!r}")
    return tuple(dict.fromkeys(map(known, words)))


def who() -> str:
    """The user of this shell as the audit names one; a container's user may have a number and no name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid {os.getuid()}"
    return f"{name} (command line)"
