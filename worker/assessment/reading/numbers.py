"""Numbers and times of day of a text, in digits or in words, in one spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from icu4py.messageformat import MessageFormat

from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, list_words

_NUMBER: Final = re.compile(r"(?<![\w.,])\d+(?:[.,'’\u00a0\u202f ]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,]\d+)?")
_THOUSANDS: Final = re.compile(r"[.,'’\u00a0\u202f ](?=\d{3}(?!\d))")
_CLOCK: Final = re.compile(
    r"(?<![\d.,])(?P<hour>[01]?\d|2[0-4])(?:(?P<sign>[:.h])(?P<minute>[0-5]\d)(?!\d|[.,]\d))?"
    r"(?:\s?(?P<half>[ap])\.?\s?m\b|\s?(?P<word>uhr\b|o'?clock\b|h\b|giờ\b|heures?\b|(?:時|时|點|点|시)(?!間|间|간))"
    r"(?:\s?(?P<after>[0-5]?\d)(?:分|분)?|(?P<thirty>半|반))?)?",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_HAN_NUMBER: Final = re.compile(
    r"(?<![周週期拜])[〇零一二两兩三四五六七八九十百千]+"
    r"(?=[个個]?(?:天|日|個月|个月|ヶ月|か月|年|周|週|星期|小时|小時|時間|時|时|分|点|點|元|円|欧|歐|欧元|本|次|回|人|岁|歳|名|件|份|台|页|頁|张|張|枚|倍|折|楼|階|週間))"
)
"""A number in Han figures before a counter; without one it may be part of any word (三明治, 十分)."""
_HAN_VALUES: Final = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_HAN_UNITS: Final = {"十": 10, "百": 100, "千": 1000}

SPELLED_LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "vi")
"""Languages whose number words ICU spells here; a document may be in any of them."""
MOST_SPELLED: Final = 100
"""Larger numbers are written in digits."""
DAY_MINUTES: Final = 24 * 60


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one text.

    Attributes:
        numbers: every number as all its possible readings ("1.000" is 1 or 1000), in the order of the text.
        times: minutes after midnight of every time of day that is written as one.
    """

    numbers: tuple[frozenset[str], ...] = ()
    times: frozenset[int] = frozenset()

    @property
    def readings(self) -> frozenset[str]:
        """Every reading of every number."""
        return frozenset().union(*self.numbers)


@once
def figures(text: str) -> Figures:
    """The numbers and times of day of a text; a time is no number."""
    times: set[int] = set()
    plain = _CLOCK.sub(lambda found: _without_time(found, times), text)
    numbers = [_digit_readings(each) for each in _NUMBER.findall(plain)]
    numbers += [frozenset({value}) for value in spelled_numbers(text)]
    return Figures(numbers=tuple(numbers), times=frozenset(times))


def _without_time(found: re.Match[str], times: set[int]) -> str:
    """A space for a time of day, which is added to the times; anything else as it stands."""
    marked = found["half"] or found["word"] or (found["minute"] and found["sign"] != ".")
    if not marked:
        return found[0]
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].lower() == "p" else 0)
    minute = 30 if found["thirty"] else int(found["minute"] or found["after"] or 0)
    times.add((hour * 60 + minute) % DAY_MINUTES)
    return " "


def _digit_readings(number: str) -> frozenset[str]:
    """The readings of a number in digits: a point or comma divides thousands or decimals."""
    bare = _THOUSANDS.sub("", number).replace(",", ".")
    readings = {_canonical(bare)} if bare.count(".") <= 1 else {bare}
    if re.fullmatch(r"\d{1,3}[.,]\d{3}", number):
        readings.add(_canonical(number.replace(",", ".")))
    return frozenset(readings)


def _canonical(number: str) -> str:
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return number.lstrip("0") or "0"


def spelled_numbers(text: str) -> Iterator[str]:
    """The numbers from 2 that a text spells in words of any of the languages, or in Han figures."""
    known = _spelled()
    for word in _WORD.findall(folded_text(text)):
        if (value := known.get(word.replace("-", ""))) is not None:
            yield value
    for run in _HAN_NUMBER.findall(text):
        if (figure := _han_value(run)) is not None and figure > 1:
            yield str(figure)


@cache
def _spelled() -> dict[str, str]:
    """Word -> number, without words that mean something else in another of the languages."""
    found: dict[str, str] = {}
    for language in SPELLED_LANGUAGES:
        spell = MessageFormat("{n, spellout}", language)
        for value in range(2, MOST_SPELLED + 1):
            word = folded_text(spell.format({"n": value}).replace("\u00ad", "")).replace("-", "")
            if " " not in word:
                found.setdefault(word, str(value))
    ambiguous = list_words("number_homographs")
    return {word: value for word, value in found.items() if word not in ambiguous}


def _han_value(run: str) -> int | None:
    total, digit = 0, None
    for sign in run:
        if (unit := _HAN_UNITS.get(sign)) is not None:
            total += (1 if digit is None else digit) * unit
            digit = None
        elif digit is not None:
            return None
        else:
            digit = _HAN_VALUES[sign]
    return total + (digit or 0)
