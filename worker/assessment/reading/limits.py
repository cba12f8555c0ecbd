"""Whether a question goes beyond what quotes name: Sunday, where they name the days from Monday to Saturday.

The quotes of a no need no negation then. Which side of the limit the question is on is left to the judge.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from worker.assessment.reading.dates import EVERY_DAY, MONTHS, covered_dates
from worker.assessment.reading.languages import language_of, restricts, says
from worker.assessment.reading.numbers import figures
from worker.assessment.reading.predicates import stems
from worker.assessment.reading.units import BARE, MONEY, THING, amounts
from worker.assessment.text.wordlists import folded_text, list_pattern

_CLAUSE: Final = re.compile(r"(?:[^,.;:!?\n，。；：！？、،؛؟]|[.,](?=\d))+")
MOST_NUMBERS: Final = 100
"""Numbers of a text that are compared."""


def goes_beyond(text: str, quoted: str) -> bool:
    """Whether a text names a day, a month, a time or an amount of a kind that the quotes name otherwise."""
    return _other_dates(text, quoted) or _other_figures(text, quoted)


def drops_limit(sentence: str, draft: str, quoted: str, question: str) -> str | None:
    """A word such as "free" that the quotes say within a limit only, while the draft names none, or None.

    A question with an amount of the same unit asks about its side of the limit, which is left to the judge.
    Beside a price of what the draft speaks of, free is only what draft or question name.
    """
    if figures(draft).numbers:
        return None
    free, spoken = list_pattern("lacking"), folded_text(draft)
    found = free.search(folded_text(sentence))
    if found is None or restricts(spoken, language_of(draft)):
        return None
    language, asked = language_of(quoted), figures(question)
    units = {unit or THING for unit in asked.units}
    named = stems(free.sub(" ", f"{spoken}\n{folded_text(question)}"))
    clauses = _CLAUSE.findall(folded_text(quoted))
    priced = any(MONEY & {*figures(each).units} and named & stems(each) for each in clauses)

    def is_limited(clause: str) -> bool:
        limit = figures(clause)
        leaves_out = limit.readings.isdisjoint(asked.readings) and units.isdisjoint(
            unit or THING for unit in limit.units
        )
        limited = says("limiting", clause, language) or restricts(clause, language)
        of_another = priced and named.isdisjoint(stems(free.sub(" ", clause)))
        return (limited and bool(limit.numbers) and leaves_out) or of_another

    grants = [each for each in clauses if free.search(each)]
    return found[0] if grants and all(map(is_limited, grants)) else None


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
