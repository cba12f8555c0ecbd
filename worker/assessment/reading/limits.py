"""Whether a question goes beyond what quotes name: Sunday, where they name the days from Monday to Saturday.

The quotes of a no need no negation then. Which side of the limit the question is on is left to the judge.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from worker.assessment.reading.dates import EVERY_DAY, MONTHS, covered_dates
from worker.assessment.reading.languages import language_of, restricts, same_language, says
from worker.assessment.reading.numbers import figures
from worker.assessment.reading.polarity import headed
from worker.assessment.reading.predicates import stems
from worker.assessment.reading.units import BARE, MONEY, THING, amounts
from worker.assessment.text.wordlists import folded_text, language_pattern, list_pattern
from worker.assessment.text.words import FUNCTION

_CLAUSE: Final = re.compile(r"(?:[^,.;:!?\n，。；：！？、،؛؟]|[.,](?=\d))+")
AGES: Final = BARE | {"year"}
"""Units of an age: "under six", "a 5 year old"."""
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
    units = {THING if unit in AGES else unit for unit in asked.units}
    named = stems(free.sub(" ", f"{spoken}\n{folded_text(question)}"))
    clauses = _CLAUSE.findall(folded_text(quoted))
    priced = any(MONEY & {*figures(each).units} and named & stems(each) for each in clauses)

    def is_limited(clause: str) -> bool:
        limit = figures(clause)
        of_others = units.isdisjoint(THING if unit in AGES else unit for unit in limit.units)
        leaves_out = limit.readings.isdisjoint(asked.readings) and of_others
        limited = says("limiting", clause, language) or restricts(clause, language)
        of_another = priced and named.isdisjoint(stems(free.sub(" ", clause)))
        return (limited and bool(limit.numbers) and leaves_out) or of_another

    grants = [each for each in clauses if free.search(each)]
    return found[0] if grants and all(map(is_limited, grants)) else None


def plain_yes(sentence: str, draft: str, quoted: str, question: str) -> str | None:
    """A word such as "only" in what the quotes grant, or None; a yes must name what follows the word."""
    if headed(sentence)[0] != "yes":
        return None
    language, spoken = language_of(quoted), folded_text(draft)
    if not same_language(headed(sentence)[1], quoted) or restricts(spoken, language):
        return None
    named = stems(f"{spoken}\n{folded_text(question)}")
    for clause in _CLAUSE.findall(folded_text(quoted)):
        if (found := language_pattern("conditional", language).search(clause)) is not None:
            granted, condition = stems(clause[: found.start()]), stems(clause[found.end() :]) - FUNCTION
            if granted & named and named.isdisjoint(condition) and not all(map(str.isdigit, condition)):
                return found[0]
    return None


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
