"""What follows by arithmetic from the numbers of a sentence and its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from math import ceil, floor
from typing import Final

from worker.assessment.reading.languages import language_of, says
from worker.assessment.reading.numbers import Figures
from worker.assessment.reading.units import BARE, MONEY, THING, amounts
from worker.assessment.text.wordlists import folded_text

UNIT_STEPS: Final = (60.0, 24.0, 7.0, 12.0)
"""Minutes, hours, days and months, by which a conclusion converts."""
MOST_PASSES: Final = 3
"""Steps of a conclusion that each show their result ("€280 + €9 = €289")."""
MOST_VALUES: Final = 12
"""Numbers of a text that arithmetic starts from."""
MOST_RESULTS: Final = 2_000
"""Results after which no second step is tried."""
PERCENT: Final = "percent"
WHOLE: Final = 100
"""Percent of the whole."""
MOST_TAX: Final = 50
"""Percent that a price may include; no "half"."""
MOST_DIGITS: Final = 12
"""A longer number is an identifier: not a quantity."""
_CONCLUDES: Final = re.compile(r"[=×]|\d[^.;!?\d]{0,80}(?::\s|\()[^\d]{0,40}\d")
"""Signs of a calculation, and a number that is explained: "480 euros: 96 for the first and ..."."""
LARGER: Final = {"minute": 60, "gram": 1000, "milliliter": 1000, "centimeter": 100}
"""How many of a unit make the unit in which prices are given."""
_HOURS: Final = re.compile(r"(?<![\d:])(\d{1,2})\s?h\s?([0-5]\d)(?!\d)")
Value = tuple[float, str]
"""A number with its unit; "" may be any."""
Derived = frozenset[Value]
"""Numbers that follow, rounded to hundredths."""


def derived_numbers(
    sentence: str,
    said: Figures,
    before: Figures,
    known: Sequence[Figures],
    *,
    bare: frozenset[str],
    ratios: frozenset[float],
) -> Derived:
    """What follows from the numbers that a sentence shows, and where it concludes from its evidence too.

    ``known`` are quotes, question and conversation, further texts, and amounts in words ("half").
    Amounts of money of the sentences before, which are compared on their own, are in sight too, and
    the ``ratios`` of the periods that sentence and quotes name. The sum of two prices needs no conclusion.
    """
    concludes = _CONCLUDES.search(sentence) or says("results", folded_text(sentence), language_of(sentence))
    numbers = bare.union(*(each.readings for each in known))
    quoted, asked = (values_of(figure.units_of()) for figure in known[:2])
    worded = {PERCENT, THING} if concludes else {PERCENT}
    asked += tuple(each for each in values_of(known[-1].units_of()) if each[1] in worded)
    found = _one_apart(asked) if concludes else frozenset()
    money = [each for each in before.units_of() if each[1] in MONEY]
    for _ in range(MOST_PASSES):
        standing = [
            (readings, unit)
            for readings, unit in said.units_of()
            if not readings.isdisjoint(numbers) or follows(readings, unit, found)
        ]
        shown = values_of((*standing, *money))
        asked = tuple(each for each in asked if each not in shown)
        hidden = tuple(
            each
            for each in quoted
            if (concludes or each[1] in {*MONEY, PERCENT}) and each not in (*shown, *asked)
        )
        found |= _results(shown, asked, hidden, concludes=bool(concludes))
        prices = tuple(dict.fromkeys(each for each in (*shown, *quoted) if each[1] in MONEY))
        found |= _by_periods(prices, (*ratios, *_in_larger_units(shown, sentence)))
        found |= _totals(shown, prices) if concludes or not prices[2:] else frozenset()
    return found


def follows(readings: frozenset[str], unit: str, derived: Derived) -> bool:
    """Whether a number is among those that follow, with a unit that can be its own."""
    values = {round(value, 2) for value, _ in values_of([(readings, unit)])}
    if any(number in values and (unit in BARE or its_unit in ("", unit)) for number, its_unit in derived):
        return True
    said = amounts(readings, unit)
    return any(
        not said.isdisjoint(amounts(frozenset({str(number)}), its_unit)) for number, its_unit in derived
    )


def _one_apart(asked: tuple[Value, ...]) -> Derived:
    """The counts of a question with one more or less: of three guests one is free, so two pay."""
    return frozenset((value + step, unit) for value, unit in asked if unit == THING for step in (1, -1))


def _in_larger_units(shown: tuple[Value, ...], sentence: str) -> tuple[float, ...]:
    """The hours that a sentence gives in minutes or as "1 h 30", and the kilograms in grams.

    "9:30" is a time.
    """
    hours = (int(whole) + int(rest) / 60 for whole, rest in _HOURS.findall(sentence))
    return (*hours, *(value / LARGER[unit] for value, unit in shown if unit in LARGER))


def _by_periods(prices: tuple[Value, ...], factors: tuple[float, ...]) -> Derived:
    """What prices are in other periods: a month's in a year, an hour's in 90 minutes."""
    return frozenset(
        (round(each, 2), unit)
        for price, unit in prices
        for factor in factors
        for each in (price * factor, price / factor)
    )


def _totals(shown: tuple[Value, ...], prices: tuple[Value, ...]) -> Derived:
    """What two prices come to, each once or as often as a count in sight."""
    counts = [1.0, *(value for value, unit in shown if unit in BARE)]
    items = [(price, (count * price[0], price[1])) for price in prices for count in counts]
    return frozenset(
        (round(one[0] + other[0], 2), one[1])
        for (first, one), (second, other) in combinations(items, 2)
        if first != second and one[1] == other[1]
    )


def _results(
    shown: tuple[Value, ...], asked: tuple[Value, ...], hidden: tuple[Value, ...], *, concludes: bool
) -> Derived:
    """What one step gives from two of the numbers, and where a sentence concludes a second step.

    Only one of the numbers may be hidden, that is, stand in the quotes alone, but of a price and its
    percentage both may. Without a conclusion it may only be added to money or taken from it, or be the price
    of a count. A quotient is rounded only where both are in sight, money never.
    """
    values = (*shown, *asked, *hidden)
    seen = len(shown) + len(asked)
    found: set[Value] = set()
    for left, right in combinations(range(len(values)), 2):
        found.update(_shares(values[left], values[right]))
        if left >= (seen if concludes or right >= seen else len(shown)):
            continue
        whole, parts = _steps(values[left], values[right])
        if right >= seen and not concludes:
            whole, parts = _of_price(whole, values[left], values[right], shown=left < len(shown)), ()
        most = len(values) if right < seen else seen
        rest = [value for index, value in enumerate(values[:most]) if index not in (left, right)]
        found.update((*whole, *parts))
        round_ones = (*whole, *parts) if right < seen else whole
        found.update(each for value in round_ones if value[1] not in MONEY for each in _rounded(value))
        if concludes and len(found) < MOST_RESULTS:
            further = [
                (*_steps(result, other), _shares(result, other))
                for result in (*whole, *parts)
                for other in rest
            ]
            found.update(value for each in further for several in each for value in several)
            found.update(each for value in whole for each in _converted(value))
    if concludes:
        found.update(each for value in values for each in _converted(value))
    return frozenset((round(value, 2), unit) for value, unit in found)


def _of_price(whole: tuple[Value, ...], one: Value, price: Value, *, shown: bool) -> tuple[Value, ...]:
    """What a number comes to with a hidden price: a sum of money, or the price of a count or a duration."""
    if one[1] == price[1]:
        return whole[1:] if shown and price[1] in MONEY else ()
    is_priced = price[1] in MONEY and one[1] not in {*MONEY, PERCENT}
    return ((one[0] * price[0], price[1]),) if is_priced else ()


def _rounded(value: Value) -> tuple[Value, Value]:
    return (float(floor(value[0])), value[1]), (float(ceil(value[0])), value[1])


def _converted(value: Value) -> Iterator[Value]:
    """A value in another unit of time, and hundredths of it: the result of a percentage."""
    yield value[0] / 100, ""
    for step in UNIT_STEPS:
        yield value[0] * step, ""
        yield value[0] / step, ""


def _steps(one: Value, other: Value) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The product of two numbers, with sum and difference where their units allow it; the quotients."""
    (left, its_unit), (right, other_unit) = one, other
    whole = [(left * right, _of_both(its_unit, other_unit))]
    if its_unit == other_unit or "" in (its_unit, other_unit):
        unit = its_unit or other_unit
        whole += [(left + right, unit), (abs(left - right), unit)]
    unit = THING if its_unit == other_unit and its_unit else _of_both(its_unit, other_unit)
    parts = ((left / right, unit), (right / left, unit)) if left and right else ()
    return tuple(whole), parts


def _of_both(one: str, other: str) -> str:
    """The unit of a product or quotient: that of a measure and a count, else any."""
    return one if other in BARE and one not in BARE else other if one in BARE and other not in BARE else ""


def _shares(one: Value, other: Value) -> tuple[Value, ...]:
    """The part that a percentage is of money, and the money less, plus and without it, in cents."""
    (share, its_unit), (value, unit) = (one, other) if one[1] == PERCENT else (other, one)
    if its_unit != PERCENT or unit not in {*MONEY, *BARE} or not 0 < share < WHOLE:
        return ()
    net = (value * WHOLE * WHOLE / (WHOLE + share),) if unit in MONEY and share < MOST_TAX else ()
    cents = (value * share, value * (WHOLE - share), value * (WHOLE + share), *net)
    return tuple((each / WHOLE, unit) for exact in cents for each, _ in _rounded((round(exact, 6), unit)))


def values_of(numbers: Iterable[tuple[frozenset[str], str]]) -> tuple[Value, ...]:
    """The numbers that arithmetic can use, with their units, each once."""
    found = (
        (float(reading), unit)
        for readings, unit in numbers
        for reading in sorted(readings)
        if reading.count(".") <= 1 and len(reading) <= MOST_DIGITS
    )
    return tuple(islice(dict.fromkeys(found), MOST_VALUES))
