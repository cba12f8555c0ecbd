"""Days of the week as opening hours abbreviate them: "Mo–Fr", "Sat 10–14", "T2–T7", "周一至周五"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Final

from worker.assessment.reading.cldr_names import short_day_names
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import one_of

SHORT: Final = 3
"""Letters from which an abbreviation is read in lower case too; "so" and "do" are words."""
_RANGE: Final = re.compile(r"\.?\s*(?:-|–|—|~|〜|至|到|to|till|bis|à|au|a|al|até|tot|do|đến)\s*")
_LIST: Final = re.compile(r"\.?\s*(?:/|&|\+|,|、|和|and|und|et|y|e|en|i|và)\s*")
_HOUR: Final = re.compile(r"\.?\s?:?\s?\d")


@once
def short_days(text: str) -> frozenset[str]:
    """The days that a text abbreviates in a range, in a list or before an hour; ranges are filled."""
    pattern, names = _short_days()
    found = [(each.start(), each.end(), names[each[0]]) for each in pattern.finditer(text)]
    days = {
        f"day{day}"
        for start, end, day in found
        if end - start > 1 and not text[start].islower() and _HOUR.match(text, end)  # "3月10日" is no Monday
    }
    for (_, end, first), (start, _, last) in pairwise(found):
        if _RANGE.fullmatch(text, end, start):
            days |= days_between(first, last)
        elif _LIST.fullmatch(text, end, start):
            days |= {f"day{first}", f"day{last}"}
    return frozenset(days)


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
    return re.compile(rf"(?<!\w){spaced}(?!\w)|{unspaced}"), names
