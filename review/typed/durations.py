"""Durations as people write them, such as ``5 minutes``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from review.languages import gettext as _
from review.languages import ngettext
from review.languages.numbers import localized
from review.typed.numbers import typed_number
from review.typed.problems import choice_problem, number_problem


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


UNIT_NAMES: Final[Mapping[TimeUnit, Callable[[int], str]]] = {
    TimeUnit.SECONDS: lambda number: ngettext("second", "seconds", number),
    TimeUnit.MINUTES: lambda number: ngettext("minute", "minutes", number),
    TimeUnit.HOURS: lambda number: ngettext("hour", "hours", number),
    TimeUnit.DAYS: lambda number: ngettext("day", "days", number),
}
"""Total; the reader's name of each unit after a number."""


def unit_name(unit: TimeUnit, number: str) -> str:
    """The unit after a typed number: ``day`` after 1, ``days`` after other numbers and without a number."""
    return UNIT_NAMES[unit](1 if number.strip() == "1" else 2)


def duration_in_unit(seconds: float) -> str:
    """A number and its unit in the reader's language, such as ``5 minutes`` or ``1 day``."""
    number, unit = as_number_and_unit(seconds)
    parts = {"number": localized(number), "unit": unit_name(unit, number)}
    return _("%(number)s %(unit)s") % parts


def as_number_and_unit(seconds: float) -> tuple[str, TimeUnit]:
    """The longest unit of which a duration is a whole number; 0 is in minutes."""
    whole = [unit for unit, size in UNIT_S.items() if seconds % size == 0]
    unit = TimeUnit.MINUTES if not seconds else whole[-1] if whole else TimeUnit.SECONDS
    return f"{seconds / UNIT_S[unit]:.15g}", unit


def duration_s(number: str, unit: str) -> float:
    """The seconds of a number and a unit as typed.

    Raises:
        ValueError: the message is for people.
    """
    if unit not in set(TimeUnit):
        raise ValueError(choice_problem(TimeUnit, unit))
    try:
        seconds = typed_number(number) * UNIT_S[TimeUnit(unit)]
    except ValueError as error:
        raise ValueError(number_problem(number)) from error
    return int(seconds) if seconds.is_integer() else seconds
