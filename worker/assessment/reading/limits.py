"""Whether a question goes beyond what quotes name: Sunday, where they name the days from Monday to Saturday.

The quotes of a no need no negation then. Which side of the limit the question is on is left to the judge.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from worker.assessment.reading.dates import EVERY_DAY, MONTHS, covered_dates
from worker.assessment.reading.numbers import figures
from worker.assessment.reading.units import BARE, MONEY, amounts

CLAUSE: Final = re.compile(r"(?:[^,.;:!?\n，。；：！？、،؛؟]|[.,](?=\d))+")
AGES: Final = BARE | {"year"}
"""Units of an age: "under six", "a 5 year old"."""
MOST_NUMBERS: Final = 100
"""Numbers of a text that are compared."""


def goes_beyond(text: str, quoted: str) -> bool:
    """Whether a text names a day, a month, a time or an amount of a kind that the quotes name otherwise."""
    return _other_dates(text, quoted) or _other_figures(text, quoted)


def _other_dates(text: str, quoted: str) -> bool:
    said, stated = covered_dates(text), covered_dates(quoted)
    return any(stated & kind and (said - stated) & kind for kind in (EVERY_DAY, MONTHS))


def _other_figures(text: str, quoted: str) -> bool:
    said, stated = figures(text), figures(quoted)
    if stated.times and said.times - stated.times:
        return True
    known = stated.readings
    others = dict.fromkeys(each for each in said.units_of() if each[0].isdisjoint(known))
    limits = dict.fromkeys(stated.units_of())
    return any(
        _is_other(*other, *limit)
        for other in islice(others, MOST_NUMBERS)
        for limit in islice(limits, MOST_NUMBERS)
    )


def _is_other(readings: frozenset[str], unit: str, limit: frozenset[str], its_unit: str) -> bool:
    """Whether two numbers can be compared and differ; a number without a unit may be an age or a count."""
    if unit in BARE or its_unit in BARE:
        return MONEY.isdisjoint((unit, its_unit))
    said, stated = amounts(readings, unit), amounts(limit, its_unit)
    return said.isdisjoint(stated) and not {base for base, _ in said}.isdisjoint(base for base, _ in stated)
