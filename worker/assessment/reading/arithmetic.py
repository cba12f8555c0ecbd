"""Whether the numbers and times of a sentence stand in its quotes, or follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import ceil, floor
from typing import Final

from worker.assessment.reading.languages import same_language
from worker.assessment.reading.numbers import DAY_MINUTES, Figures, figures
from worker.assessment.reading.units import THING, Amounts, amounts
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.assessment.text.words import fact_units, split_sentences, text_units

HALF_DAY: Final = DAY_MINUTES // 2
UNIT_STEPS: Final = (60.0, 24.0, 7.0, 12.0, 100.0)
"""Minutes, hours, days, months and percent, by which a conclusion converts."""
MOST_PASSES: Final = 3
"""Steps of a conclusion that each show their result ("€280 + €9 = €289")."""
MOST_VALUES: Final = 12
"""Numbers of the quotes that arithmetic starts from."""
MOST_RESULTS: Final = 2_000
"""Results of one step that the second step starts from."""
MOST_DIGITS: Final = 12
"""A longer number is an identifier: not a quantity."""
LEAST_STEP: Final = 10
MOST_STEP: Final = 90
"""Minutes that people add to a time of day ("45 minutes before closing")."""


def missing_figures(sentence: str, *, draft: str, quoted: str, passages: str, question: str) -> list[str]:
    """The numbers and times of a sentence that its evidence does not give.

    They may stand in a quote, in the question, or in a sentence of the passages that speaks of the same, or
    follow by arithmetic: two steps where the sentence says that it concludes ("so", "that makes"), else
    one. A number with a unit of measure must have that unit there, and must not stand for another amount of
    the quotes.
    """
    said = figures(sentence)
    if not said.numbers and not said.times:
        return []
    near = [figures(part) for part in _speaking_of(sentence, passages)]
    known = [figures(quoted), figures(question), *near]
    times = frozenset().union(*(each.times | each.possible_times for each in known))
    derived = _hours(times) | _derived(sentence, said, known)
    written = _written_units(known)
    stated = frozenset().union(*(each.amounts for each in known))
    missing = [
        readings
        for readings, unit in zip(said.numbers, said.units, strict=True)
        if readings.isdisjoint(derived)
        and (
            not _has_unit(readings, unit, written, stated)
            or _replaces(readings, unit, figures(draft), known)
        )
    ]
    numbers = derived | written.keys()
    late = [time for time in said.times if not _is_known(time, times, numbers) and not _follows(time, known)]
    return [max(each) for each in missing] + [f"{time // 60}:{time % 60:02}" for time in late]


def _written_units(known: Sequence[Figures]) -> dict[str, set[str]]:
    """Each number of the evidence with the units that it has there."""
    found: dict[str, set[str]] = {}
    for each in known:
        for readings, unit in zip(each.numbers, each.units, strict=True):
            for reading in readings:
                found.setdefault(reading, set()).add(unit)
    return found


def _has_unit(readings: frozenset[str], unit: str, written: Mapping[str, set[str]], stated: Amounts) -> bool:
    """Whether the evidence has a number with that unit, or with a word that may be one."""
    units = frozenset().union(*(written.get(reading, ()) for reading in readings))
    if unit in ("", THING) or not units.isdisjoint(("", THING, unit)):
        return bool(units)
    return not amounts(readings, unit).isdisjoint(stated)


def _replaces(readings: frozenset[str], unit: str, draft: Figures, known: Sequence[Figures]) -> bool:
    """Whether an amount stands in place of one that the quotes have and the draft leaves out."""
    said, quoted = amounts(readings, unit), known[0]
    if not said.isdisjoint(quoted.amounts | known[1].amounts):
        return False
    others, bare = set(), set()
    for each, its_unit in zip(quoted.numbers, quoted.units, strict=True):
        if its_unit == unit:
            others |= each
        elif its_unit in ("", THING):
            bare |= each
    return bool(others) and readings.isdisjoint(bare) and draft.readings.isdisjoint(others | bare)


def _speaking_of(sentence: str, passages: str) -> list[str]:
    """The sentences of the passages that share a content word; all in another language, where none can."""
    parts = split_sentences(passages)
    if not same_language(sentence, passages):
        return parts
    said = frozenset(fact_units(text_units(sentence)))
    return [part for part in parts if not said.isdisjoint(fact_units(text_units(part)))]


def _hours(times: frozenset[int]) -> frozenset[str]:
    """Hours and minutes of times as bare numbers: "9 to 17"."""
    return frozenset(str(part) for time in times for part in (time // 60, time // 60 % 12, time % 60))


def _is_known(time: int, times: frozenset[int], numbers: frozenset[str]) -> bool:
    bare = {str(time // 60), str(time // 60 % 12 or 12)} if time % 60 == 0 else set()
    return time in times or (time + HALF_DAY) % DAY_MINUTES in times or not numbers.isdisjoint(bare)


def _follows(time: int, known: list[Figures]) -> bool:
    """Whether a time lies a known number of minutes before or after a known time or full hour."""
    numbers = [value for each in known for value in _values(each.numbers)]
    bases = {time for each in known for time in each.times} | {value * 60 for value in numbers if value <= 24}
    steps = [value for value in numbers if LEAST_STEP <= value <= MOST_STEP]
    return any(
        (base + sign * step) % HALF_DAY == time % HALF_DAY
        for base in bases
        for step in steps
        for sign in (1, -1)
    )


def _derived(sentence: str, said: Figures, known: Sequence[Figures]) -> frozenset[str]:
    """What follows from the numbers that a sentence shows, and where it concludes from its evidence too."""
    concludes = "=" in sentence or list_pattern("results").search(folded_text(sentence)) is not None
    numbers = frozenset().union(*(each.readings for each in known))
    found: frozenset[str] = frozenset()
    for _ in range(MOST_PASSES if concludes else 1):
        shown = tuple(each for each in said.numbers if not each.isdisjoint(numbers | found))
        found |= _results(shown, known[:2], concludes=concludes)
    return found


def _results(
    shown: tuple[frozenset[str], ...], known: Sequence[Figures], *, concludes: bool
) -> frozenset[str]:
    ours, quoted, asked = (_values(each) for each in (shown, *(figure.numbers for figure in known)))
    first = (*ours, *quoted[:MOST_VALUES]) if concludes else ours
    one = _steps(first, (*first, *asked))
    if not concludes:
        return frozenset(map(_written, one))
    results = sorted(one)[:MOST_RESULTS]
    return frozenset(map(_written, (*one, *_steps(results, (*first, *asked, *UNIT_STEPS)))))


def _steps(ours: Sequence[float], others: Sequence[float]) -> set[float]:
    """Sums, differences, products and quotients, also rounded to whole numbers."""
    found: set[float] = set()
    for one, other in product(ours, others):
        found |= {one * other, one + other, abs(one - other)}
        if other:
            found.add(one / other)
    return found | {float(rounded) for each in found for rounded in (floor(each), ceil(each))}


def _written(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def _values(numbers: Sequence[frozenset[str]]) -> list[float]:
    readings = (reading for each in numbers for reading in sorted(each))
    return [float(each) for each in readings if each.count(".") <= 1 and len(each) <= MOST_DIGITS]
