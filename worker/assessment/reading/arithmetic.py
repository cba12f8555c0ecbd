"""What follows by arithmetic from the numbers of a sentence and its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, islice
from math import ceil, floor
from typing import Final

from worker.assessment.reading.languages import language_of, says
from worker.assessment.reading.numbers import Figures
from worker.assessment.text.wordlists import folded_text

UNIT_STEPS: Final = (60.0, 24.0, 7.0, 12.0)
"""Minutes, hours, days and months, by which a conclusion converts."""
MOST_PASSES: Final = 3
"""Steps of a conclusion that each show their result ("€280 + €9 = €289")."""
MOST_VALUES: Final = 12
"""Numbers of a text that arithmetic starts from."""
MOST_RESULTS: Final = 2_000
"""Results after which no second step is tried."""
MOST_DIGITS: Final = 12
"""A longer number is an identifier: not a quantity."""
Value = tuple[float, str]
"""A number with its unit."""


def derived_numbers(
    sentence: str, said: Figures, known: Sequence[Figures], bare: frozenset[str]
) -> frozenset[str]:
    """What follows from the numbers that a sentence shows, and where it concludes from its evidence too."""
    concludes = "=" in sentence or says("results", folded_text(sentence), language_of(sentence))
    numbers = bare.union(*(each.readings for each in known))
    quoted, asked = (values_of(figure.units_of()) for figure in known[:2])
    found: frozenset[str] = frozenset()
    for _ in range(MOST_PASSES if concludes else 1):
        shown = values_of(each for each in said.units_of() if not each[0].isdisjoint(numbers | found))
        asked = tuple(each for each in asked if each not in shown)
        hidden = tuple(each for each in quoted if concludes and each not in (*shown, *asked))
        found |= _results(shown, asked, hidden, concludes=concludes)
    return found


def _results(
    shown: tuple[Value, ...], asked: tuple[Value, ...], hidden: tuple[Value, ...], *, concludes: bool
) -> frozenset[str]:
    """What one step gives from two of the numbers, and where a sentence concludes a second step.

    Only one of the numbers may be hidden, that is, stand in the quotes alone; a quotient is rounded only
    where both are in sight.
    """
    values = (*shown, *asked, *hidden)
    seen = len(shown) + len(asked)
    found: set[float] = set()
    for left, right in combinations(range(len(values)), 2):
        if left >= (seen if concludes else len(shown)):
            continue
        whole, parts = _steps(values[left], values[right])
        most = len(values) if right < seen else seen
        rest = [value for index, value in enumerate(values[:most]) if index not in (left, right)]
        found.update(value for value, _ in (*whole, *parts))
        round_ones = (*whole, *parts) if right < seen else whole
        found.update(each for value, _ in round_ones for each in _rounded(value))
        if concludes and len(found) < MOST_RESULTS:
            further = [_steps(result, other) for result in (*whole, *parts) for other in rest]
            found.update(value for each in further for several in each for value, _ in several)
            found.update(each for value, _ in whole for each in _converted(value))
    if concludes:
        found.update(each for value, _ in values for each in _converted(value))
    return frozenset(map(_written, found))


def _rounded(value: float) -> tuple[float, float]:
    return float(floor(value)), float(ceil(value))


def _converted(value: float) -> tuple[float, ...]:
    """A value in another unit of time, and hundredths of it: the result of a percentage."""
    return (value / 100, *(each for step in UNIT_STEPS for each in (value * step, value / step)))


def _steps(one: Value, other: Value) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The product of two numbers, with sum and difference where their units allow it; the quotients."""
    (left, its_unit), (right, other_unit) = one, other
    whole = [(left * right, "")]
    if its_unit == other_unit or "" in (its_unit, other_unit):
        unit = its_unit or other_unit
        whole += [(left + right, unit), (abs(left - right), unit)]
    parts = ((left / right, ""), (right / left, "")) if left and right else ()
    return tuple(whole), parts


def _written(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def values_of(numbers: Iterable[tuple[frozenset[str], str]]) -> tuple[Value, ...]:
    """The numbers that arithmetic can use, with their units, each once."""
    found = (
        (float(reading), unit)
        for readings, unit in numbers
        for reading in sorted(readings)
        if reading.count(".") <= 1 and len(reading) <= MOST_DIGITS
    )
    return tuple(islice(dict.fromkeys(found), MOST_VALUES))
