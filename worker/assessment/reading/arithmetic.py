"""Whether the numbers and times of a sentence stand in its quotes, or follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, islice
from math import ceil, floor
from typing import Final

from worker.assessment.reading.clauses import speaking_of
from worker.assessment.reading.dates import counted_days, named_dates
from worker.assessment.reading.numbers import DAY_MINUTES, Figures, figures
from worker.assessment.reading.units import THING, Amounts, amounts
from worker.assessment.text.wordlists import folded_text, list_pattern

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
Value = tuple[float, str]
"""A number with its unit."""
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
    near = [figures(part) for part in speaking_of(sentence, passages)]
    known = [figures(quoted), figures(question), *near]
    times = frozenset().union(*(each.times | each.possible_times for each in known))
    derived = _hours(times) | _calendar(f"{quoted}\n{question}") | _derived(sentence, said, known)
    written = _written_units(known, figures(draft))
    stated = frozenset().union(*(each.amounts for each in known))
    missing = [
        readings
        for readings, unit in said.units_of()
        if readings.isdisjoint(derived)
        and (
            not _has_unit(readings, unit, written, stated)
            or _replaces(readings, unit, figures(draft), known)
        )
    ]
    numbers = derived | written.keys()
    late = [time for time in said.times if not _is_known(time, times, numbers) and not _follows(time, known)]
    return [max(each) for each in missing] + [f"{time // 60}:{time % 60:02}" for time in late]


def _written_units(known: Sequence[Figures], draft: Figures) -> dict[str, set[str]]:
    """Each number of the evidence with its units there; "" for those that the draft has without a unit too.

    A draft that says "Zone 2" has used the bare number of the evidence: "2 euros" needs its own.
    """
    bare = frozenset().union(*(each for each, unit in draft.units_of() if unit in ("", THING)))
    found: dict[str, set[str]] = {}
    for each in known:
        for readings, unit in each.units_of():
            for reading in readings:
                used = reading in bare and unit in ("", THING)
                found.setdefault(reading, set()).update(() if used else (unit,))
    return found


def _has_unit(readings: frozenset[str], unit: str, written: Mapping[str, set[str]], stated: Amounts) -> bool:
    """Whether the evidence has a number with that unit, or with a word that may be one."""
    units = frozenset().union(*(written.get(reading, ()) for reading in readings))
    if unit in ("", THING):
        return any(reading in written for reading in readings)
    if not units.isdisjoint(("", THING, unit)):
        return True
    return not amounts(readings, unit).isdisjoint(stated)


def _replaces(readings: frozenset[str], unit: str, draft: Figures, known: Sequence[Figures]) -> bool:
    """Whether an amount stands in place of one that the quotes have and the draft leaves out."""
    if unit in ("", THING) or not amounts(readings, unit).isdisjoint(known[0].amounts | known[1].amounts):
        return False
    bare = frozenset().union(*(each for each, its_unit in draft.units_of() if its_unit in ("", THING)))
    others = [each for each, its_unit in known[0].units_of() if its_unit == unit]
    elsewhere = [each - bare for each, its_unit in known[0].units_of() if its_unit in ("", THING)]
    kept = frozenset().union(*others, *elsewhere)
    return bool(others) and draft.readings.isdisjoint(kept)


def _hours(times: frozenset[int]) -> frozenset[str]:
    """Hours and minutes of times as bare numbers: "9 to 17"."""
    return frozenset(str(part) for time in times for part in (time // 60, time // 60 % 12, time % 60))


def _calendar(text: str) -> frozenset[str]:
    """Numbers of the months that a text names, and of the days that it lets count, as bare numbers."""
    named = (date[5:] for date in named_dates(text) if date.startswith("month"))
    return frozenset((*named, *(str(number) for counted in counted_days(text) for number in counted)))


def _is_known(time: int, times: frozenset[int], numbers: frozenset[str]) -> bool:
    bare = {str(time // 60), str(time // 60 % 12 or 12)} if time % 60 == 0 else set()
    return time in times or (time + HALF_DAY) % DAY_MINUTES in times or not numbers.isdisjoint(bare)


def _follows(time: int, known: list[Figures]) -> bool:
    """Whether a time lies a known number of minutes before or after a known time or full hour."""
    numbers = [value for each in known for value, _ in _values(each.units_of())]
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
    quoted, asked = (_values(figure.units_of()) for figure in known[:2])
    found: frozenset[str] = frozenset()
    for _ in range(MOST_PASSES if concludes else 1):
        shown = _values(each for each in said.units_of() if not each[0].isdisjoint(numbers | found))
        first = (*shown, *(each for each in quoted if concludes and each not in shown))
        found |= _results(first, tuple(each for each in asked if each not in first), concludes=concludes)
    return found


def _results(first: tuple[Value, ...], asked: tuple[Value, ...], *, concludes: bool) -> frozenset[str]:
    """What one step gives from two of the numbers, and where a sentence concludes a second step."""
    values = (*first, *asked)
    one = [
        (result, (left, right))
        for left, right in combinations(range(len(values)), 2)
        if left < len(first)
        for result in _steps(values[left], values[right])
    ]
    found = {value for (value, _), _ in one}
    if concludes:
        for result, used in one[:MOST_RESULTS]:
            rest = (value for index, value in enumerate(values) if index not in used)
            found.update(value for other in rest for value, _ in _steps(result, other))
        converted = (*found, *(value for value, _ in values))
        found.update(each for value in converted for step in UNIT_STEPS for each in (value * step, value / step))
    return frozenset(map(_written, found | {float(near(each)) for each in found for near in (floor, ceil)}))


def _steps(one: Value, other: Value) -> tuple[Value, ...]:
    """Product and quotients of two numbers, and their sum and difference where their units allow it."""
    (left, its_unit), (right, other_unit) = one, other
    found = [(left * right, "")]
    if left and right:
        found += [(left / right, ""), (right / left, "")]
    if its_unit == other_unit or "" in (its_unit, other_unit):
        unit = its_unit or other_unit
        found += [(left + right, unit), (abs(left - right), unit)]
    return tuple(found)


def _written(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def _values(numbers: Iterable[tuple[frozenset[str], str]]) -> tuple[Value, ...]:
    found = (
        (float(reading), unit)
        for readings, unit in numbers
        for reading in sorted(readings)
        if reading.count(".") <= 1 and len(reading) <= MOST_DIGITS
    )
    return tuple(islice(dict.fromkeys(found), MOST_VALUES))
