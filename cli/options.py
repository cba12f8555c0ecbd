"""What several commands share: where things live, and what a moment looks like."""

from __future__ import annotations

from datetime import UTC, datetime

from cli.output import fail
from review.lists import moments
from worker.errors import ConfigurationError
from worker.settings import Connections, connections


def connected() -> Connections:
    """DATABASE_URL and REDIS_URL of this shell, or a clear refusal."""
    try:
        return connections()
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}\n(hushgate config example prints every variable)") from None


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
