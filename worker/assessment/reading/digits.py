"""Texts with their figures in digits: "½", "1m75", "260k", "2,5 triệu", "halb sieben"."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

from icu4py.messageformat import MessageFormat

from worker.assessment.text.wordlists import folded_text, list_words, one_of, phrase_pattern

_VIETNAMESE_DAY: Final = re.compile(r"\bthứ (?:[2-7]|hai|ba|tư|năm|sáu|bảy)\b")
"""A day of the week or an ordinal; neither is an amount."""
_METRES: Final = re.compile(r"(?<![\d.,])(\d)\s?m\s?(\d\d)(?!\w)")
"""A height in French and Spanish: "1m75"."""
_FOREIGN_DIGIT: Final = re.compile(r"(?![0-9])\d")
_HALF_SIGN: Final = re.compile(r"(?<=\d)(?:\s?½|\s1/2(?!\d))")
_PARTS: Final = ("half", "halb", "quart", "kwart", "viertel", "cuarto")  # of every time in words


def in_digits(text: str) -> str:
    """Folded text with digits of any script, halves, magnitudes and times in words as digits 0 to 9."""
    folded = folded_text(text)
    if not folded.isascii():
        folded = _FOREIGN_DIGIT.sub(lambda found: str(unicodedata.digit(found[0])), folded)
    folded = _HALF_SIGN.sub(".5", _METRES.sub(r"\1.\2 m", _VIETNAMESE_DAY.sub(" ", folded)))
    pattern, factors = _magnitudes()
    folded = pattern.sub(lambda found: f"{float(found[1].replace(',', '.')) * factors[found[2]]:.0f}", folded)
    if any(map(folded.__contains__, _PARTS)):
        clock, times = _times()
        folded = clock.sub(lambda found: times[found[0]], folded)
    return folded


@cache
def _magnitudes() -> tuple[re.Pattern[str], dict[str, int]]:
    """A pattern for a number with a word such as "million" ("1万円"), and the factor of each word."""
    entries = (entry.partition(": ") for entry in sorted(list_words("magnitudes")))
    factors = {word: int(factor) for factor, _, each in entries for word in each.split(", ")}
    words = one_of(sorted(factors, key=len, reverse=True))
    return re.compile(rf"(?<![a-z\d.,])(\d{{1,4}}(?:[.,]\d\d?)?)\s?({words})(?![^\W\u3040-\uffff])"), factors


@cache
def _times() -> tuple[re.Pattern[str], dict[str, str]]:
    """A pattern for the times in words, and each in digits."""
    times: dict[str, str] = {}
    for entry in list_words("times_in_words"):
        language, minutes, phrase = entry.split(" ", 2)
        spell = MessageFormat("{n, spellout}", language)
        for hour in range(1, 13):
            before, minute = divmod(hour * 60 + int(minutes), 60)
            for word in (folded_text(spell.format({"n": hour})), str(hour)):
                times[phrase.replace("#", word)] = f"{before or 12}:{minute:02}"
    return phrase_pattern(tuple(times)), times
