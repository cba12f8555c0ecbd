"""Prices in questions and drafts: a number of days or centimetres is no answer to "how much does it cost"."""

from __future__ import annotations

import re
from functools import cache

from worker.assessment.text.quantities import MEASURES
from worker.assessment.text.wordlists import folded_text, list_pattern, list_words, one_of

_NUMBER = r"\d+(?:[.,]\d+)*"
_UNSPACED_UNITS = "年月日天周週秒小時分点點"
_SIGNS = "$€£¥₫"


def asks_price(query: str) -> bool:
    """Whether a question about an amount asks for money: by a word of price, or "how much is the ..."."""
    folded = folded_text(query)
    if list_pattern("price_words").search(folded) is not None:
        return True
    if list_pattern("asks_price").search(folded) is None:
        return False
    return list_pattern("other_amounts").search(folded) is None and MEASURES.isdisjoint(folded.split())


def has_price(draft: str) -> bool:
    """Whether a draft may state a price: it names money, or has a number without another unit."""
    folded = folded_text(draft)
    if any(sign in folded for sign in _SIGNS):
        return True
    if any(list_pattern(name).search(folded) for name in ("price_words", "says_price", "currencies")):
        return True
    plain = _measured().sub(" x ", folded)
    return re.search(r"\d", plain) is not None or list_pattern("says_amount").search(plain) is not None


def without_prices(text: str) -> str:
    """The text without its sums of money."""
    return _sums().sub(" x ", folded_text(text))


@cache
def _measured() -> re.Pattern[str]:
    """A number, or a range of two, with a unit of time, length, mass or volume."""
    units = sorted(MEASURES | list_words("other_units"), key=len)
    spaced = one_of([each for each in reversed(units) if each.isalpha() and each.isascii()])
    others = one_of([each for each in reversed(units) if not each.isascii() and each.isalpha()])
    words = one_of(sorted(list_words("number_words"), key=len, reverse=True))
    number = rf"(?:{_NUMBER}|\b{words}\b)"
    joined = rf"{number}(?:\s*(?:to|or|and|bis|-|–)\s*{number})?"
    unit = rf"(?:{spaced}s?\b|{others}|[{_UNSPACED_UNITS}])"
    return re.compile(rf"{joined}[\s-]*(?:(?:working|business|full)\s+)?{unit}")


@cache
def _sums() -> re.Pattern[str]:
    """A number with a currency before or after it."""
    names = one_of(sorted(list_words("currencies"), key=len, reverse=True))
    return re.compile(rf"[{_SIGNS}]\s?{_NUMBER}|{_NUMBER}\s?(?:[{_SIGNS}]|{names}(?!\w))|{names}\s{_NUMBER}")
