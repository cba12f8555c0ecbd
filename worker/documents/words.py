"""The words of a text for full text search, the same for documents and queries in every script."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

WORD_CHARS: Final = 64
SPACELESS: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Thai, Lao, Burmese, Khmer, kana, Han, and Hangul, whose particles are attached to the noun."""
_WORD: Final = (
    r"(?:[^\W_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
    r"\u0980-\u0dff])+"
)
"""Letters and digits, with the vowel signs of Hebrew, Arabic and the Indic scripts."""

WORD: Final = re.compile(_WORD)
JOINED: Final = re.compile(rf"{_WORD}(?:[.,:/+_-]{_WORD})*")
"""A word, or several that signs join: an article code, a decimal, a date, a version, ``e-bike``."""

DIGIT: Final = re.compile(r"\d")
AMOUNT: Final = re.compile(r"\d+(?:[.,]\d+)+")
THOUSANDS: Final = re.compile(r"\d{1,3}(?:[.,]\d{3})+")


def search_words(text: str) -> list[str]:
    """The words in order, folded by NFKC and case; then character pairs of scripts without spaces.

    Of words that signs join those with a digit are kept whole: ``ab-1234/7``, ``4.5``. Their parts are words
    too, except those of an amount.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words: list[str] = []
    for joined in JOINED.findall(SPACELESS.sub(" ", folded)):
        words += _joined_words(joined)
    for run in SPACELESS.findall(folded):
        words += (run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return [word[:WORD_CHARS] for word in words]


def _joined_words(joined: str) -> list[str]:
    parts = WORD.findall(joined)
    if len(parts) == 1 or DIGIT.search(joined) is None:
        return parts
    if AMOUNT.fullmatch(joined):
        return [_amount(joined)]
    return [joined, *parts]


def _amount(text: str) -> str:
    """An amount in one form: ``1,000`` is ``1000``, and ``4,5`` is ``4.5``."""
    return re.sub("[.,]", "", text) if THOUSANDS.fullmatch(text) else text.replace(",", ".")
