"""Sums of money, times and measures in questions and drafts, so that one is not taken for another."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from worker.assessment.text.quantities import MEASURES, times_of_day
from worker.assessment.text.wordlists import folded_text, list_pattern, list_words, one_of
from worker.assessment.text.words import STOP

_NUMBER = r"\d+(?:[.,]\d+)*"
_HAN_NUMBER = "[零一二两兩三四五六七八九十百千万萬半几幾]+"
_HAN_UNITS = "年月日号號天周週秒小时時分点點楼樓层層階"
_SIGNS = "$€£¥₫"
_YEAR = r"(?:1[5-9]|20)\d\d"
_DIGIT = re.compile(r"\d")
_AFTER_TIME = r"\s*(?:$|[-–,;.!?]|(?:to|until|till|and|or|am|pm|a\.m|p\.m)\b)"
"""What follows a number that is a time of day."""

_HAN_TIME = re.compile(
    rf"(?:{_NUMBER}|{_HAN_NUMBER})\s*(?:[年月日天周週秒分]|小?[时時]|[点點]半?|元|块|塊|円|%)?"
    "|星期[一二三四五六日天]|[周週][一二三四五六日末]|[月火水木金土日]曜日?|[早晚]上|[上中下]午|[今明]天|午[前後]"
)
_HAN_PARTICLES = re.compile(
    r"[\W_]|从|從|在|是|到|至|约|約|的|不|没有|沒有|没|营业|營業|休息|です|から|まで|ごろ|頃|に|は|の|営業|定休日?|休み"
)


def asks_price(query: str) -> bool:
    """Whether a question about an amount asks for money: by a word of price, or "how much is the ..."."""
    folded = folded_text(query)
    if list_pattern("price_words").search(folded) is not None:
        return True
    if list_pattern("asks_price").search(folded) is None:
        return False
    return list_pattern("other_amounts").search(folded) is None and MEASURES.isdisjoint(folded.split())


def has_price(draft: str) -> bool:
    """Whether a draft may state a price: it names money, or has a number that is no measure and no date."""
    folded = folded_text(draft)
    if any(sign in folded for sign in _SIGNS):
        return True
    if any(list_pattern(name).search(folded) for name in ("price_words", "says_price", "currencies")):
        return True
    plain = _measured().sub(" x ", _dated().sub(" x ", folded))
    return _DIGIT.search(plain) is not None or list_pattern("says_amount").search(plain) is not None


def has_time(draft: str) -> bool:
    """Whether a draft may state a time: a word of time, or a number that counts nothing else."""
    folded = _sums().sub(" x ", folded_text(draft))
    if times_of_day(folded) or list_pattern("says_time").search(folded) is not None:
        return True
    return _DIGIT.search(_counted().sub(_unless_time, folded)) is not None


def without_times(draft: str) -> str:
    """The draft without its times, with the preposition before each, in its own case."""
    return _time_phrase().sub(" x ", draft)


def without_numbers(draft: str, numbers: Collection[str]) -> str:
    """The draft without these numbers, such as that of "Nova 3" in the question."""
    return re.sub(r"\b\d+\b", lambda found: "x" if found[0] in numbers else found[0], draft)


def is_only_time_or_sum(draft: str) -> bool:
    """Whether a draft in a script without spaces has nothing but times, numbers, sums and particles."""
    found, times = _HAN_TIME.subn("", draft)
    return times > 0 and not _HAN_PARTICLES.sub("", found)


def _unless_time(found: re.Match[str]) -> str:
    """Keeps a number after a word such as "at", and before one such as "to": it counts nothing."""
    return found[0] if found["before"] or found["word"] in STOP else " x "


@cache
def _counted() -> re.Pattern[str]:
    """A number and the word that it counts, unless a word before it says that it is a time."""
    heads = one_of(sorted(list_words("before_times"), key=len, reverse=True))
    known = list_words("time_units") | list_words("other_units") | MEASURES
    units = one_of(sorted(known, key=len, reverse=True))
    counted = rf"(?!{_YEAR}\b){_NUMBER}\s+(?!{units}(?!\w))(?P<word>[^\W\d_]+)"
    return re.compile(rf"(?<![\w.,:])(?P<before>{heads}\s+)?{counted}")


@cache
def _dated() -> re.Pattern[str]:
    """A year after a month or a word such as "in"."""
    heads = one_of(sorted(list_words("before_years"), key=len, reverse=True))
    return re.compile(rf"(?<!\w){heads}\s+(?:the\s+year\s+|năm\s+)?{_YEAR}(?!\w)")


@cache
def _measured() -> re.Pattern[str]:
    """A number, or a range of two, with a unit of time, length, mass or volume, or of a floor."""
    units = sorted(MEASURES | list_words("other_units"), key=len, reverse=True)
    spaced = one_of([each for each in units if each.isalpha() and each.isascii()])
    others = one_of([each for each in units if not each.isascii() and each.isalpha()])
    words = one_of(sorted(list_words("number_words"), key=len, reverse=True))
    number = rf"(?:{_NUMBER}|\b{words}\b)"
    joined = rf"{number}(?:\s*(?:to|or|and|bis|-|–)\s*{number})?"
    unit = rf"(?:{spaced}s?\b|{others})"
    measured = rf"{joined}[\s-]*(?:(?:working|business|full)\s+)?{unit}"
    return re.compile(rf"{measured}|(?:{_NUMBER}|{_HAN_NUMBER})[{_HAN_UNITS}]")


@cache
def _sums() -> re.Pattern[str]:
    """A number with a currency before or after it."""
    names = one_of(sorted(list_words("currencies"), key=len, reverse=True))
    return re.compile(rf"[{_SIGNS}]\s?{_NUMBER}|{_NUMBER}\s?(?:[{_SIGNS}]|{names}(?!\w))|{names}\s{_NUMBER}")


@cache
def _time_phrase() -> re.Pattern[str]:
    """A word of time, or a number that is no house number, with the preposition before it."""
    heads = one_of(sorted(list_words("says_place"), key=len, reverse=True))
    times = one_of(sorted(list_words("says_time"), key=len, reverse=True))
    numbers = one_of(sorted(list_words("number_words"), key=len, reverse=True))
    number = rf"(?:\d[\d:.]*(?:st|nd|rd|th)?|{numbers})\b(?={_AFTER_TIME}|\s+{times}\b)"
    return re.compile(rf"\b(?:{heads}\s+(?:the\s+)?)?(?:{number}|{times}\b)", re.IGNORECASE)
