"""Shared by several commands: reading their settings and times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from cli.output import fail
from review.lists import moments
from worker import settings
from worker.errors import ConfigurationError
from worker.settings import Environment, StreamSettings

Known = TypeVar("Known", bound=Environment)


def usable(read: Callable[[], Known]) -> Known:
    """The settings that ``read`` returns.

    Raises:
        ConfigurationError: a variable is missing or wrong.
    """
    try:
        return read()
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}\n(hushgate config example prints every variable)") from None


def database_url() -> str:
    """DATABASE_URL of this shell; a command that asks for it needs no other variable."""
    return usable(settings.load_database_settings).database_url.get_secret_value()


def streams() -> StreamSettings:
    """REDIS_URL of this shell with the names of the streams; needs no other variable."""
    return usable(settings.load_stream_settings)


def moment(option: str, text: str | None) -> datetime | None:
    """``2026-11-21T10:00Z``, ``2026-11-21``, or an age such as ``15m``, ``7d``; UTC without offset."""
    if text is None:
        return None
    try:
        return moments.moment(text, datetime.now(UTC))
    except ValueError as error:
        raise fail(
            f"{option}: expected a time such as 2026-11-21T10:00Z or an age such as 24h, got {text!r}"
        ) from error
