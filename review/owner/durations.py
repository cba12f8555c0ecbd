"""Durations as a number and a unit, for forms: ``5 minutes`` instead of 300 seconds."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class TimeUnit(StrEnum):
    """A unit of a form."""

    SECONDS = "seconds"
    MINUTES = "minutes"
    HOURS = "hours"
    DAYS = "days"


UNIT_S: Final[Mapping[TimeUnit, int]] = {
    TimeUnit.SECONDS: 1,
    TimeUnit.MINUTES: 60,
    TimeUnit.HOURS: 3600,
    TimeUnit.DAYS: 86_400,
}
"""Total; seconds of each unit, shortest first."""


def as_number_and_unit(seconds: float) -> tuple[str, TimeUnit]:
    """The longest unit of which a duration is a whole number; 0 is in minutes."""
    whole = [unit for unit, size in UNIT_S.items() if seconds % size == 0]
    unit = TimeUnit.MINUTES if not seconds else whole[-1] if whole else TimeUnit.SECONDS
    return f"{seconds / UNIT_S[unit]:.15g}", unit


def duration_s(number: str, unit: str) -> float:
    """The seconds of a number and a unit as typed.

    Raises:
        ValueError: the message says what was expected and what came.
    """
    if unit not in set(TimeUnit):
        raise ValueError(f"expected one of {', '.join(TimeUnit)}, got {unit[:40]!r}")
    try:
        seconds = float(number.strip().replace(",", ".")) * UNIT_S[TimeUnit(unit)]
    except ValueError as error:
        raise ValueError(f"expected a number, got {number[:40]!r}") from error
    return int(seconds) if seconds.is_integer() else seconds
