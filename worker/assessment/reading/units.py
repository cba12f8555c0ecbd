"""Units of measure beside a number, in one spelling, so that "14 Tage" and "two weeks" are one amount."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from worker.assessment.text.wordlists import folded_text, list_words, one_of, phrase_pattern
from worker.assessment.text.words import INDIC_LETTERS

THING: Final = "thing"
"""The unit of a number before a word that is no unit of measure: "three branches", "14 calendar days"."""
BARE: Final = frozenset({"", THING})
_CURRENCIES: Final = """euro cent dollar pound yen dong won franc lira zloty riyal crown real yuan rupee ruble
    hryvnia shekel dirham baht peso"""
MONEY: Final = frozenset(_CURRENCIES.split())
"""Units whose amounts have no third decimal: "1,500" of them is one and a half thousand."""
_FACTORS: Final[Mapping[str, tuple[tuple[str, float], ...]]] = {
    "second": (("minute", 1 / 60),),
    "hour": (("minute", 60),),
    "day": (("minute", 1440),),
    "week": (("minute", 7 * 1440),),
    "month": (("month", 1), *(("minute", days * 1440) for days in (28, 30, 31))),
    "quarter": (("month", 3),),
    "year": (("month", 12), ("minute", 365 * 1440)),
    "cent": (("euro", 0.01), ("dollar", 0.01), ("pound", 0.01)),
    "kilometer": (("meter", 1000),),
    "centimeter": (("meter", 0.01),),
    "millimeter": (("meter", 0.001),),
    "kilogram": (("gram", 1000),),
    "milliliter": (("liter", 0.001),),
    "kilobyte": (("megabyte", 1 / 1000), ("megabyte", 1 / 1024)),
    "gigabyte": (("megabyte", 1000), ("megabyte", 1024)),
    "terabyte": (("megabyte", 1000**2), ("megabyte", 1024**2)),
    "mile": (("inch", 63_360),),
    "yard": (("inch", 36),),
    "foot": (("inch", 12),),
    "lb": (("ounce", 16),),
}
"""A unit as the units that can express it; a month has 28 to 31 days."""
_METRIC: Final[Mapping[str, tuple[str, float, float]]] = {
    "inch": ("meter", 0, 0.0254),
    "ounce": ("gram", 0, 28.35),
    "gallon": ("liter", 0, 3.785),
    "fahrenheit": ("celsius", 32, 5 / 9),
}
"""A unit -> the metric one, what is subtracted first, and the factor."""
TEMPERATURES: Final = frozenset({"celsius", "fahrenheit"})
ROUNDED: Final = 0.03
"""Share by which people round what they convert."""
_SIGN_BEFORE: Final = re.compile(
    r"(us\$|r\$|[€$£¥₫₺₽₹₩₪₴฿%]|\b(?:eur|usd|gbp|chf|jpy|vnd|cny|inr|rub|aed|mxn|yüzde))\s?$"
)
_NEXT_WORD: Final = re.compile(
    r"[\s\-–]*(?!x\s?\d)(%|[℃℉]|°\s?[cf]\b|[€$£¥₫₺₽₹₩₪₴฿](?!\s?\d)"
    rf"|[{INDIC_LETTERS}]+|[^\W\d_]+(?:['-][^\W\d_]+)*)"
)
PERIODS: Final = frozenset({"hour", "day", "week", "month", "year"})
_RATIOS: Final = {
    ("month", "year"): 12.0,
    ("week", "year"): 52.0,
    ("day", "week"): 7.0,
    ("hour", "day"): 24.0,
}
_WORDED_PERIODS: Final = {
    ("month", "12"): "year",
    ("day", "7"): "week",
    ("hour", "24"): "day",
    ("minute", "60"): "hour",
}
_LETTERS: Final = re.compile(rf"[{INDIC_LETTERS}]+|[^\W\d_]+")
_SUFFIX: Final = re.compile(r"(?<=\w\w)'\w+$")
"""The ending of a Turkish word: "TL'dir"."""
MOST_WORDS: Final = 3
"""Words after a number among which its unit is looked for, up to a function word."""
_LOOK_BACK: Final = 6
_LOOK_AHEAD: Final = 48
Amounts = frozenset[tuple[str, float]]


def unit_beside(folded: str, start: int, end: int) -> str:
    """The unit of the number at a place of folded text, ``thing`` before another word, "" before none.

    Other words may stand between ("14 calendar days"), but none that begins a rate ("2 Abholungen pro Jahr");
    a German unit may end its word ("Kalendertage").
    """
    sign = _SIGN_BEFORE.search(folded[max(0, start - _LOOK_BACK) : start])
    if sign is not None:
        return _units()[sign[1]]
    ahead = folded[end : end + _LOOK_AHEAD]
    if (counter := _counters().match(ahead)) is not None:
        return _units()[counter[1]]
    unit, place = "", 0
    for _ in range(MOST_WORDS):
        found = _NEXT_WORD.match(ahead, place)
        if found is None:
            break
        if found[1] in list_words("stop") and (len(found[1]) > 1 or found[1] not in _units()):
            break
        if found[1] in list_words("rates"):
            break
        known = _units().get(found[1]) or _units().get(_SUFFIX.sub("", found[1])) or _compound(found[1])
        if known is not None:
            return known
        unit, place = THING, found.end()
    return unit


def is_unit(folded: str) -> bool:
    """Whether a folded word or sign is a unit."""
    return folded in _units()


def amounts(readings: frozenset[str], unit: str) -> Amounts:
    """A number in every unit that can express it; empty without a unit of measure."""
    if unit in ("", THING):
        return frozenset()
    values = [float(each) for each in readings if each.count(".") <= 1 and len(each) < _LOOK_AHEAD]
    factors = _FACTORS.get(unit, ((unit, 1.0),))
    return frozenset((base, round(value * factor, 2)) for base, factor in factors for value in values)


def is_converted(readings: frozenset[str], unit: str, stated: Amounts) -> bool:
    """Whether a number is a stated amount in units of the other system, about as people round it."""
    others = [(*_METRIC[base], value) for base, value in stated if base in _METRIC]
    metric = [(base, (value - zero) * factor) for base, zero, factor, value in others]
    metric += (
        (base, value / factor + zero)
        for base, (its_metric, zero, factor) in _METRIC.items()
        for other, value in stated
        if other == its_metric
    )
    return any(
        base == its_base and abs(value - exact) <= max(ROUNDED * abs(exact), base in TEMPERATURES and 0.6)
        for base, value in amounts(readings, unit)
        for its_base, exact in metric
    )


def worded_amounts(text: str) -> tuple[tuple[frozenset[str], str], ...]:
    """The amounts that a text names without a figure, as number and unit: "half an hour", "yearly"."""
    found = _worded_pattern().finditer(folded_text(text))
    return tuple(dict.fromkeys(_worded()[each[0]] for each in found))


def periods(text: str) -> frozenset[str]:
    """The periods that a text names in words: "a month", "yearly", "Jahresbeitrag"."""
    words = (_units().get(word) or _compound(word) for word in _LETTERS.findall(folded_text(text)))
    worded = (_WORDED_PERIODS.get((unit, min(readings))) for readings, unit in worded_amounts(text))
    return frozenset(each for each in (*words, *worded) if each in PERIODS)


def period_ratios(text: str) -> frozenset[float]:
    """How often one period that a text names goes into another: 12 for a month and a year."""
    named = periods(text)
    return frozenset(ratio for (one, other), ratio in _RATIOS.items() if {one, other} <= named)


@cache
def _worded_pattern() -> re.Pattern[str]:
    return phrase_pattern(tuple(_worded()))


@cache
def _worded() -> Mapping[str, tuple[frozenset[str], str]]:
    """Phrase -> number and unit."""
    found: dict[str, tuple[frozenset[str], str]] = {}
    for entry in sorted(list_words("amounts_in_words")):
        amount, _, phrases = entry.partition(": ")
        number, unit = amount.split()
        found |= dict.fromkeys(map(folded_text, phrases.split(", ")), (frozenset({number}), unit))
    return found


def _compound(word: str) -> str | None:
    found = _compounds().search(word)
    return _units()[found[1]] if found is not None else None


@cache
def _units() -> Mapping[str, str]:
    """Word or sign -> unit."""
    found: dict[str, str] = {}
    for entry in sorted(list_words("units")):
        unit, _, words = entry.partition(": ")
        for word in words.split(", "):
            found.setdefault(folded_text(word), unit)
    return found


@cache
def _counters() -> re.Pattern[str]:
    """A unit directly after its number, in a script without spaces, or one of several words."""
    unspaced = [word for word in _units() if word[0] >= "\u0e00" and not "\u1e00" <= word[0] <= "\u20ff"]
    several = [word for word in _units() if " " in word]
    ordered = sorted((*unspaced, *several), key=len, reverse=True)
    return re.compile(rf"[\s-]*({one_of(ordered)})")


@cache
def _compounds() -> re.Pattern[str]:
    german = ("stunden", "tage", "tagen", "tag", "wochen", "woche", "monate", "monaten", "jahre", "jahren")
    return re.compile(rf"(?<=\w{{3}})({'|'.join(german)})$")
