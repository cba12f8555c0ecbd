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
WORD: Final = re.compile(
    r"(?:[^\W_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
    r"\u0980-\u0dff])+"
)
"""Letters and digits, with the vowel signs of Hebrew, Arabic and the Indic scripts."""


def search_words(text: str) -> list[str]:
    """Distinct words, folded by NFKC and case; character pairs in scripts without spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = set(WORD.findall(SPACELESS.sub(" ", folded)))
    for run in SPACELESS.findall(folded):
        words.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return sorted({word[:WORD_CHARS] for word in words})
