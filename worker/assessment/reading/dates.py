"""Days of the week and months that a text names, in any language that CLDR knows here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Final

from babel import Locale

from worker.assessment.reading.numbers import figures
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, list_pattern, one_of

LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "vi", "zh", "ja", "ko")
WORKING_DAYS: Final = frozenset(f"day{number}" for number in range(5))
WEEKEND: Final = frozenset({"day5", "day6"})
EVERY_DAY: Final = WORKING_DAYS | WEEKEND


@once
def named_dates(text: str) -> frozenset[str]:
    """The days and months of a text, as ``day0`` (Monday) and ``month1`` (January); ranges are filled."""
    folded = folded_text(text)
    pattern, names = _names()
    found = [(match.start(), match.end(), names[match[0]]) for match in pattern.finditer(folded)]
    dates = {name for _, _, name in found}
    for (_, end, first), (start, _, last) in pairwise(found):
        if _RANGE.fullmatch(folded[end:start]) and first.startswith("day") and last.startswith("day"):
            dates |= _between(int(first[3:]), int(last[3:]))
    return frozenset(dates)


def missing_dates(sentence: str, ground: str, asked: str) -> list[str]:
    """The dates of a sentence that neither stand in the ground nor are counted from a day that was asked."""
    counted = {
        f"day{(int(day[3:]) + step) % 7}"
        for day in named_dates(asked)
        if day in EVERY_DAY
        for step in _steps(ground)
    }
    return sorted(named_dates(sentence) - covered_dates(ground) - counted)


def _steps(text: str) -> set[int]:
    """Days that may be counted forwards or backwards from a day: the small numbers of a text."""
    near = {int(value) for value in figures(text).readings if value.isdigit() and len(value) == 1}
    return near | {-step for step in near}


@once
def covered_dates(text: str) -> frozenset[str]:
    """The dates that a text speaks of, with those that "weekdays", "weekend" and "daily" include."""
    dates = set(named_dates(text))
    folded = folded_text(text)
    for name, covered in (
        ("working_days", WORKING_DAYS),
        ("weekend_words", WEEKEND),
        ("every_day", EVERY_DAY),
    ):
        if list_pattern(name).search(folded):
            dates |= covered
    return frozenset(dates)


_RANGE: Final = re.compile(
    r"s?\.?\s*(?:-|–|—|to|until|till|through|thru|bis|à|au|a|al|hasta|até|tot|do|đến|到|至|から|〜|~|부터)\s*(?:the\s)?"
)


def _between(first: int, last: int) -> set[str]:
    """The days of a range, over the end of the week if need be."""
    return {f"day{day % 7}" for day in range(first, last + 1 if last >= first else last + 8)}


@cache
def _names() -> tuple[re.Pattern[str], Mapping[str, str]]:
    """A pattern for every name, and what each means."""
    names: dict[str, str] = {}
    for language in LANGUAGES:
        locale = Locale.parse(language)
        for width in ("stand-alone", "format"):
            for number, word in locale.days[width]["wide"].items():
                names.setdefault(folded_text(word), f"day{number}")
            for number, word in locale.months[width]["wide"].items():
                names.setdefault(folded_text(word), f"month{number}")
    names = {word: name for word, name in names.items() if len(word) > 2 and word not in AMBIGUOUS}
    plurals = {f"{word}s": name for word, name in names.items() if word[-1].isalpha() and word.isascii()}
    names = plurals | names
    spaced = one_of(
        sorted((word for word in names if word.isascii() or word[0] < "\u3000"), key=len, reverse=True)
    )
    unspaced = one_of(sorted((word for word in names if word[0] >= "\u3000"), key=len, reverse=True))
    return re.compile(rf"(?<!\w){spaced}(?!\w)|{unspaced}"), names


AMBIGUOUS: Final = frozenset({"may", "march", "mars", "mai", "mei", "maj", "marzo"})
"""Names of months that are also everyday words in one of the languages."""
