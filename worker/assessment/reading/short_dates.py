"""Dates as notices abbreviate them: "Mo–Fr", "Sat 10–14", "T2–T7", "8 Dec", "15.01.2027", "25/12"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Final

from worker.assessment.reading.cldr_names import date_names, short_day_names
from worker.assessment.reading.languages import language_of
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, one_of

_NUMERIC_DATE: Final = re.compile(
    r"(?<![\d./-])(?:\d{4}-(?P<iso>0[1-9]|1[0-2])-\d\d"
    r"|(?P<first>\d{1,2})(?P<sign>[./-])(?P<second>\d{1,2})(?:(?P=sign)(?P<year>\d{4}|\d\d)|\.|(?<=\d\d/\d\d)(?!/)))(?!\d)"
)
LEAST_SHORT: Final = 3
MOST_SHORT: Final = 5
"""Letters of an abbreviated month."""
SHORT: Final = 3
"""Letters from which an abbreviation is read in lower case too; "so" and "do" are words."""
_RANGE: Final = re.compile(
    r"\.?\s*(?:-|–|—|~|〜|至|到|to|till|bis|à|au|a|al|até|tot(?: en met)?|t/m|do|đến)\s*"
)
_LIST: Final = re.compile(r"\.?\s*(?:/|&|\+|,|、|和|and|und|et|y|e|en|i|và)\s*")
WRITES_SMALL: Final = frozenset({"nl", "pl", "de", "cyrillic"})
"""Languages whose days of two letters are listed in small letters; "so, do 5" is English."""
_HOUR: Final = re.compile(r"\.?,?\s?:?\s?\d")
_DATE_AFTER: Final = re.compile(r"\.?,?\s\d{1,2}[./]\s?\d")
"""After an abbreviation in lower case too: "mar. 08/12"."""


@once
def short_days(text: str) -> frozenset[str]:
    """The days that a text abbreviates in a range, in a list or before an hour; ranges are filled."""
    pattern, names = _short_days()
    found = [(each.start(), each.end(), names[each[0]]) for each in pattern.finditer(text)]
    days = {
        f"day{day}"
        for start, end, day in found
        if end - start > 1  # "3月10日" is no Monday
        and (_DATE_AFTER if text[start].islower() else _HOUR).match(text, end)
    }
    for (_, end, first), (start, _, last) in pairwise(found):
        if _RANGE.fullmatch(text, end, start):
            days |= days_between(first, last)
        elif _LIST.fullmatch(text, end, start):
            days |= {f"day{first}", f"day{last}"}
    return frozenset(days | _small_days(text))


def _small_days(text: str) -> set[str]:
    """The days that a text writes in two small letters, in a range or list before an hour: "ma-vr 9-17"."""
    pattern, names = _two_letters()
    found = [(*each.span(), names[folded_text(each[0])]) for each in pattern.finditer(text)]
    days, is_sure = set[str](), False
    may_list = len(found) > 1 and language_of(text) in WRITES_SMALL
    for (_, end, first), (start, after, last) in reversed(list(pairwise(found))):
        is_range = _RANGE.fullmatch(text, end, start) is not None
        is_joined = is_range or (may_list and _LIST.fullmatch(text, end, start) is not None)
        is_sure = is_joined and (is_sure or _HOUR.match(text, after) is not None)
        if is_sure:
            days |= days_between(first, last) if is_range else {f"day{first}", f"day{last}"}
    return days


@cache
def _two_letters() -> tuple[re.Pattern[str], Mapping[str, int]]:
    """A pattern for the days of two letters, the first one in either case, and the number of each."""
    short = {word.lower(): int(name[3:]) for word, name in short_day_names().items() if word.isalpha()}
    names = {word: day for word, day in short.items() if len(word) == 2 and word < "\u3000"}
    forms = sorted({*names, *(word.title() for word in names)})
    return re.compile(rf"(?<!\w){one_of(forms)}(?!\w)"), names


def days_between(first: int, last: int) -> set[str]:
    """The days of a range, over the end of the week if need be; 0 is Monday."""
    return {f"day{day % 7}" for day in range(first, last + 1 if last >= first else last + 8)}


@cache
def _short_days() -> tuple[re.Pattern[str], Mapping[str, int]]:
    """A pattern for every abbreviation, and the number of its day."""
    names: dict[str, int] = {}
    for word, name in short_day_names().items():
        forms = {word.upper(), word.title(), *([word.lower()] if len(word) >= SHORT else [])}
        for form in forms:
            names.setdefault(form, int(name[3:]))
    spaced = one_of(sorted((each for each in names if each[0] < "\u3000"), key=len, reverse=True))
    unspaced = one_of([each for each in names if each[0] >= "\u3000"])
    # The end of "曜日" is no Sunday.
    return re.compile(rf"(?<!\w){spaced}(?!\w)|(?<![曜요]){unspaced}"), names


def short_months(text: str) -> frozenset[str]:
    """The months that a text abbreviates beside a number: "8 Dec", "3. Okt. 2026"."""
    pattern, names = _short_months()
    return frozenset(
        name for found in pattern.finditer(folded_text(text)) for name in names[found[1] or found[2]]
    )


@cache
def _short_months() -> tuple[re.Pattern[str], Mapping[str, frozenset[str]]]:
    """A pattern for abbreviations beside a number, and the months that each may mean."""
    names: dict[str, set[str]] = {}
    for word, name in date_names().items():
        for length in range(LEAST_SHORT, min(MOST_SHORT, len(word) - 1) + 1):
            if name.startswith("month") and word.isalpha():
                names.setdefault(folded_text(word[:length]), set()).add(name)
    short = one_of(sorted(names, key=len, reverse=True))
    beside = rf"\d(?:\.|st|nd|rd|th)?\s(?:de\s)?({short})(?!\w)|(?<!\w)({short})\.?\s\d"
    return re.compile(beside), {word: frozenset(months) for word, months in names.items()}


def numeric_months(text: str, *, sure: bool) -> frozenset[str]:
    """The months of dates in digits ("15.01.2027"); of "01/02/2027" both, and where ``sure`` none."""
    found: set[int] = set()
    for each in _NUMERIC_DATE.finditer(text):
        if each["iso"]:
            found.add(int(each["iso"]))
            continue
        first, second = int(each["first"]), int(each["second"])
        months = {second} if each["sign"] == "." and each["year"] else {first, second}
        months = {month for month in months if 1 <= month <= 12}
        if not sure or (each["year"] and len(months) == 1):
            found |= months
    return frozenset(f"month{month}" for month in found)
