"""Whether the numbers and times of a sentence stand in its quotes, or follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import ceil, floor
from typing import Final

from worker.assessment.reading.languages import same_language
from worker.assessment.reading.numbers import DAY_MINUTES, Figures, figures
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


def missing_figures(sentence: str, *, quoted: str, passages: str, question: str) -> list[str]:
    """The numbers and times of a sentence that its evidence does not give.

    They may stand in a quote, in the question, or in a sentence of the passages that speaks of the same, or
    follow by arithmetic: two steps where the sentence says that it concludes ("so", "that makes"), else
    one.
    """
    said = figures(sentence)
    if not said.numbers and not said.times:
        return []
    near = [figures(part) for part in _speaking_of(sentence, passages)]
    known = [figures(quoted), figures(question), *near]
    times = frozenset().union(*(each.times for each in known))
    numbers = frozenset().union(_hours(times), *(each.readings for each in known))
    concludes = "=" in sentence or list_pattern("results").search(folded_text(sentence)) is not None
    missing = [each for each in said.numbers if each.isdisjoint(numbers)]
    for _ in range(MOST_PASSES if concludes else 1):
        shown = Figures(numbers=tuple(each for each in said.numbers if each not in missing))
        numbers |= _derived(shown, known[:2], concludes=concludes)
        missing = [each for each in missing if each.isdisjoint(numbers)]
    late = [time for time in said.times if not _is_known(time, times, numbers) and not _follows(time, known)]
    return [min(each, key=len) for each in missing] + [f"{time // 60}:{time % 60:02}" for time in late]


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
    numbers = [value for each in known for value in _values(each)]
    bases = {time for each in known for time in each.times} | {value * 60 for value in numbers if value <= 24}
    steps = [value for value in numbers if LEAST_STEP <= value <= MOST_STEP]
    return any(
        (base + sign * step) % HALF_DAY == time % HALF_DAY
        for base in bases
        for step in steps
        for sign in (1, -1)
    )


def _derived(shown: Figures, known: Sequence[Figures], *, concludes: bool) -> frozenset[str]:
    """What follows from the numbers that a sentence shows, and where it concludes from its evidence too."""
    quoted, asked = (_values(each) for each in known)
    first = (*_values(shown), *quoted[:MOST_VALUES]) if concludes else _values(shown)
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


def _values(found: Figures) -> list[float]:
    shortest = (min(each, key=len) for each in found.numbers)
    return [float(each) for each in shortest if each.count(".") <= 1 and len(each) <= MOST_DIGITS]
