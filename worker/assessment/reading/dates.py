"""Days of the week and months that a text names, in any language that CLDR knows here."""

from __future__ import annotations

import re
from calendar import month_name, monthrange
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from itertools import pairwise
from typing import Final

from worker.assessment.reading.cldr_names import date_names
from worker.assessment.reading.languages import denies, language_of
from worker.assessment.reading.numbers import DAY_MINUTES, figures
from worker.assessment.reading.short_dates import days_between, numeric_months, short_days, short_months
from worker.assessment.reading.units import unit_beside
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import (
    folded_text,
    list_pattern,
    list_words,
    one_of,
    ordered_list_words,
    phrase_pattern,
)

ORDINAL_LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "vi", "zh", "ja", "ar")
WORKING_DAYS: Final = frozenset(f"day{number}" for number in range(5))
WEEKEND: Final = frozenset({"day5", "day6"})
EVERY_DAY: Final = WORKING_DAYS | WEEKEND
YEAR_MONTHS: Final = 12
LEAST_RANGE: Final = 3
"""Days or months that are a range; of fewer, a spelling that is not known here may name others."""
MONTHS: Final = frozenset(f"month{number}" for number in range(1, 13))


@once
def named_dates(text: str) -> frozenset[str]:
    """The days and months of a text, as ``day0`` (Monday) and ``month1`` (January); ranges are filled."""
    folded = folded_text(text)
    pattern, names = _names(folded.isascii())
    matches = list(pattern.finditer(folded))
    ends = [
        _RANGE.fullmatch(folded, one.end(), other.start()) is not None
        or (one[0].endswith(_FROM) and folded[one.end() : other.start()].isspace())
        for one, other in pairwise(matches)
    ]
    sure = [
        beside or before or each[0] not in AMBIGUOUS or _is_month(folded, each)
        for each, beside, before in zip(matches, (*ends, False), (False, *ends), strict=False)
    ]
    dates = {names[each[0]] for each, is_name in zip(matches, sure, strict=True) if is_name}
    for (one, other), in_range in zip(pairwise(matches), ends, strict=True):
        if in_range:
            dates |= _between(names[one[0]], names[other[0]])
    return frozenset(dates)


def _between(first: str, last: str) -> set[str]:
    """The days or the months of a range, over the end of the week or the year if need be."""
    if first.startswith("day") and last.startswith("day"):
        return days_between(int(first[3:]), int(last[3:]))
    if first.startswith("month") and last.startswith("month"):
        count = (int(last[5:]) - int(first[5:])) % 12
        return {f"month{(int(first[5:]) - 1 + step) % 12 + 1}" for step in range(count + 1)}
    return set()


def missing_dates(
    sentence: str, *, draft: str, quoted: str, beside: str, passages: str, asked: str, written: str
) -> list[str]:
    """The dates of a sentence that its ground does not have, apart from a month of a counted day.

    Days and months of other passages, or of the question where nothing is denied, must not replace those of
    the quotes; a table may head its column with that of the question. What is closed or excepted may be what
    the quotes leave out: closed on Mondays, where it is open from Tuesday to Sunday.
    """
    said = named_dates(sentence) | numeric_months(sentence, sure=True)
    stated = covered_dates(quoted) if said else said
    doubted = said - stated
    if not doubted:  # as of most sentences
        return []
    doubted &= named_dates(without_known_days(sentence, "", written)[0]) | numeric_months(sentence, sure=True)
    repeated = covered_dates(asked)
    missing = doubted - repeated - covered_dates(passages) - _near_dates(written)
    denied = any(denies(folded_text(each), language_of(each)) for each in (sentence, quoted))
    kept = repeated if denied else repeated & covered_dates(beside)
    for kind in (EVERY_DAY, MONTHS):
        of_quotes = stated & kind
        if of_quotes and of_quotes.isdisjoint(covered_dates(draft)):
            missing |= doubted & kind - (kept if len(of_quotes) >= LEAST_RANGE else repeated)
    if missing:
        counted = counted_days(f"{quoted}\n{passages}\n{asked}\n{written}")
        missing -= {f"month{month}" for month, _ in counted} | _left_out(sentence, quoted)
    return sorted(missing)


def without_known_days(sentence: str, evidence: str, written: str) -> tuple[str, frozenset[str]]:
    """A sentence without its calendar days that are the message's, the next or counted; and the others."""
    if MONTHS.isdisjoint(named_dates(sentence)):
        return sentence, frozenset()
    folded = folded_text(sentence)
    beside = [*_days_beside(folded)]
    if not beside:
        return sentence, frozenset()
    known = {(each.month, each.day) for each in near_days(written)} | counted_days(f"{evidence}\n{written}")
    pieces, at, others = [], 0, set()
    for (start, end), month, day in beside:
        if (month, day) not in known:
            others.add(str(day))
            continue
        year = _YEAR_AFTER.match(folded, end)
        is_known = year is not None and year[1] in f"{evidence}{written}"
        pieces.append(folded[at:start])
        at = year.end() if year and is_known else end
    return " ".join((*pieces, folded[at:])), frozenset(others)


@once
def near_days(written: str) -> tuple[date, ...]:
    """The day of a message and the next, from the text that model and judge read; empty without one."""
    found = _WRITTEN.match(written)
    if found is None:
        return ()
    day = date(int(found[3]), [*month_name].index(found[2]), int(found[1]))
    return day, day + timedelta(days=1)


def without_date_names(text: str) -> str:
    """Folded text without the names of days and months."""
    return _names(text.isascii())[0].sub(" ", folded_text(text))


def _near_dates(written: str) -> frozenset[str]:
    near = near_days(written)
    return frozenset(name for each in near for name in (f"day{each.weekday()}", f"month{each.month}"))


def _left_out(sentence: str, quoted: str) -> frozenset[str]:
    """The days and months of clauses that deny, beside those that the quotes name without a denial."""
    if denies(folded_text(quoted), language_of(quoted)):
        return frozenset()
    stated = covered_dates(quoted)
    kinds = [kind for kind in (EVERY_DAY, MONTHS) if kind & stated]
    language, clauses = language_of(sentence), _CLAUSE_END.split(sentence)
    denied = (covered_dates(each) for each in clauses if denies(folded_text(each), language))
    return frozenset().union(*denied).intersection(frozenset().union(*kinds)) - stated


def _is_month(folded: str, match: re.Match[str]) -> bool:
    """Whether a word that is not always a month stands beside a day, or after "in" or "until"."""
    before = folded[max(0, match.start() - LOOK_BACK) : match.start()]
    day = _DAY_BEFORE.search(before) or _DAY_AFTER.match(folded[match.end() : match.end() + 4])
    return day is not None or _MONTH_FOLLOWS.search(before) is not None


@once
def counted_days(text: str) -> frozenset[tuple[int, int]]:
    """(month, day) of every calendar day that lies an amount of days of a text from one of its own."""
    dates = calendar_days(text)
    if not dates:
        return frozenset()
    minutes = [value for base, value in figures(text).amounts if base == "minute"]
    steps = {round(value / DAY_MINUTES) for value in minutes if DAY_MINUTES <= value < 366 * DAY_MINUTES}
    found = {date + timedelta(days=sign * step) for date in dates for step in steps for sign in (1, -1)}
    return frozenset((date.month, date.day) for date in found)


@once
def counted_years(text: str) -> frozenset[str]:
    """Every year that lies years of a text ("3 years", "the third calendar year") from one of its years."""
    years = [int(value) for value in figures(text).readings if _YEAR.fullmatch(value)]
    steps = {_ordinals()[found[0]] for found in list_pattern("ordinals").finditer(folded_text(text))}
    months = [value for base, value in figures(text).amounts if base == "month"]
    steps |= {int(value // YEAR_MONTHS) for value in months if not value % YEAR_MONTHS}
    return frozenset(str(year + sign * step) for year in years for step in steps for sign in (1, -1))


@once
def counted_ordinals(text: str) -> frozenset[tuple[str, str]]:
    """The numbers of the ordinals of a text from the third on, each with its unit.

    "First" and "second" do not only count. The third floor is no price of three euros.
    """
    folded = folded_text(text)
    found = (
        (_ordinals()[each[0]], unit_beside(folded, each.start(), each.end()))
        for each in list_pattern("ordinals").finditer(folded)
    )
    return frozenset((str(number), unit) for number, unit in found if number >= 3)


@cache
def _ordinals() -> Mapping[str, int]:
    found: dict[str, int] = {}
    for language in ORDINAL_LANGUAGES:
        for value, word in enumerate(ordered_list_words("ordinals", language), start=1):
            found.setdefault(folded_text(word), value)
    return found


def calendar_days(text: str) -> set[date]:
    """The days that a text names as "1 June" or "June 1", in a leap year and in another."""
    return {
        date(year, month, day)
        for _, month, day in _days_beside(folded_text(text))
        for year in (2024, 2025)
        if day <= monthrange(year, month)[1]
    }


def _days_beside(folded: str) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Place, month and day of every calendar day of a folded text, in order: "1 june", "june 1", "28.11."."""
    pattern, names = _names(folded.isascii())
    for match in pattern.finditer(folded):
        name, (start, end) = names[match[0]], match.span()
        first = max(0, start - LOOK_BACK)
        before = _DAY_BEFORE.search(folded[first:start])
        after = None if before else _DAY_AFTER.match(folded[end : end + 4])
        if name.startswith("month") and (beside := before or after) is not None and int(beside[1]):
            span = (first + before.start(), end) if before else (start, end + beside.end())
            yield span, int(name[5:]), int(beside[1])


@once
def covered_dates(text: str) -> frozenset[str]:
    """The dates that a text names, also abbreviated, with the days of "weekdays", "weekend" and "daily"."""
    dates = set(named_dates(text)) | short_days(text) | short_months(text)
    dates |= numeric_months(text, sure=False)
    pattern, covered = _several_days()
    return frozenset(dates).union(*(covered[each[0]] for each in pattern.finditer(folded_text(text))))


@cache
def _several_days() -> tuple[re.Pattern[str], Mapping[str, frozenset[str]]]:
    """A pattern for the words that mean several days, and the days of each."""
    lists = (("working_days", WORKING_DAYS), ("weekend_words", WEEKEND), ("every_day", EVERY_DAY))
    days = {folded_text(word): covered for name, covered in lists for word in list_words(name)}
    return phrase_pattern(tuple(sorted(days))), days


_RANGE: Final = re.compile(
    r"s?\.?\s*(?:-|–|—|to|until|till|through|thru|bis|à|au|a|al|hasta|até|tot|do|đến|到|至|から|〜|~|부터|по|إلى|الى|حتى"
    r"|tot en met|t/m)\s*(?:the\s|zum\s|la\s)?(?:(?:end|start|beginning|middle|ende|anfang|mitte|fin|début"
    r"|mi|fine|inizio|metà|finales|mediados|final|fim|meados|eind|begin|końca|początku|połowy)[\s-]"
    r"(?:of\s|de\s|di\s)?(?:the\s)?|\d{1,2}(?:\.|st|nd|rd|th|er)?\s(?:of\s|de\s)?)?"
)
"""Between the first and the last of several days or months: "November to the end of February"."""


@cache
def _names(is_ascii: bool) -> tuple[re.Pattern[str], Mapping[str, str]]:
    """A pattern for every name, or for those in texts in ASCII, and what each means."""
    names: dict[str, str] = {}
    for word, name in date_names().items():
        names.setdefault(folded_text(word), name)
    names = {word: name for word, name in names.items() if len(word) > 2 or word[0].isdigit()}
    names |= {f"thứ {day + 2}": f"day{day}" for day in range(6)}  # Vietnamese days in digits
    plurals = {
        f"{word}s": name
        for word, name in names.items()
        if word[-1].isalpha() and word.isascii() and word not in AMBIGUOUS
    }
    names = {word: name for word, name in (plurals | names).items() if word.isascii() or not is_ascii}
    spaced = one_of(
        sorted((word for word in names if word.isascii() or word[-1] < "\u3000"), key=len, reverse=True)
    )
    unspaced = one_of(sorted((word for word in names if word[-1] >= "\u3000"), key=len, reverse=True))
    return re.compile(rf"(?<!\w){spaced}(?!\w)" + ("" if is_ascii else f"|{unspaced}")), names


_DAY_BEFORE: Final = re.compile(r"(?<!\d)(\d{1,2})(?:\.|st|nd|rd|th|er)?\s(?:of\s|de\s)?$")
_DAY_AFTER: Final = re.compile(r"\s?(\d{1,2})(?!\d)")
_YEAR_AFTER: Final = re.compile(r"(?:st|nd|rd|th)?,?\s(?:de\s)?((?:19|20)\d\d)(?!\d)")
_WRITTEN: Final = re.compile(r"\w+, (\d+) (\w+) (\d{4})")
_MONTH_FOLLOWS: Final = re.compile(
    r"(?<!\w)(?:in|until|till|since|from|by|of|early|late|mid|im|bis|seit|ab|anfang|ende|en|de|jusqu'en|depuis|desde"
    r"|hasta|a|di|fino a|da|em|até|tot|vanaf|eind|w|do|od)[\s-]$"
)
LOOK_BACK: Final = 12
"""Characters before the name of a month in which its day or its preposition stands."""
_FROM: Final = ("dan", "den", "tan", "ten")
"""Endings of the Turkish case for the beginning of a range: "mayıstan ekime"."""
_CLAUSE_END: Final = re.compile(r"[,;:()，、；：،؛]")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
AMBIGUOUS: Final = frozenset({"may", "march", "mars", "mai", "mei", "maj", "marzo"})
"""Names of months that are also everyday words in one of the languages."""
