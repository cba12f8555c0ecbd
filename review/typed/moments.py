"""Parses the times that people write: a time, a day, or an age; also for commands without the pages."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment(text: str, now: datetime) -> datetime:
    """``2026-11-21T10:00Z``, ``2026-11-21``, or an age such as ``15m``, ``7d``; UTC without offset.

    Raises:
        ValueError: it is neither, or lies before 1970.
    """
    try:
        if age := re.fullmatch(r"(\d{1,6})([smhdw])", text, re.ASCII):
            at = now - timedelta(**{UNITS[age[2]]: int(age[1])})
        else:
            at = datetime.fromisoformat(text)
        at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError("out of range") from error
    if at < EARLIEST:
        raise ValueError("before 1970")
    return at
