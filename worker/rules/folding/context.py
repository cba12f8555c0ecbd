"""Language and scripts of a whole text, computed once and only when a candidate needs them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, cached_property

from worker.rules.folding.fold import data_lines, script_code

_VIETNAMESE = re.compile("\\b\\w*[\u01a0\u01a1\u01af\u01b0\u0110\u0111\u1ea0-\u1ef9]\\w*")
"""Words with letters that only Vietnamese uses, in composed form."""


def vietnamese_words(text: str) -> list[str]:
    """The words of a text with letters that only Vietnamese uses."""
    return _VIETNAMESE.findall(unicodedata.normalize("NFC", text))


_SYLLABLE = re.compile(
    r"(?:ngh|ch|gh|gi|kh|ng|nh|ph|qu|th|tr|[bcdghklmnpqrstvx])?"
    r"(?:uye|ieu|yeu|oai|oay|uay|uoi|uou|oeo|ie|ye|uo|ua|ia|uy|oa|oe|ue|ai|ao|au|ay|eo|eu|iu|oi|ui|[aeiouy])"
    r"(?:ch|ng|nh|[cmnpt])?"
)
"""A Vietnamese syllable without its marks: initial, vowels, final (Thompson 1965)."""
_WORD = re.compile(r"[^\W\d_]+")
AROUND = 200
"""Characters on either side of a match that are read for its language: bounded, so that cost stays linear."""
MIN_SYLLABLES = 3
"""Fewest other words from which a text can count as Vietnamese without marks."""
SYLLABLE_SHARE = 0.8
"""Least share of them with the shape of a Vietnamese syllable; English texts have about 0.5."""


def reads_vietnamese(text: str, start: int, end: int) -> bool:
    """Whether the words around a match are Vietnamese written without marks."""
    around = text[max(0, start - AROUND) : start] + " " + text[end : end + AROUND]
    words = _WORD.findall(around.casefold())
    shaped = sum(len(word) <= 7 and _SYLLABLE.fullmatch(word) is not None for word in words)
    everyday = sum(word in everyday_words() for word in words)
    return len(words) >= MIN_SYLLABLES and shaped >= SYLLABLE_SHARE * len(words) and 2 * everyday < len(words)


@cache
def everyday_words() -> frozenset[str]:
    """Short everyday words without accents, which are not a disguise of an accented rule."""
    return frozenset(word for line in data_lines("everyday.txt") for word in line.split()[1:])


class TextContext:
    """A text of one reading, with the counts that all its candidates share."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def scripts(self) -> Counter[str]:
        """How many letters the text has of each script."""
        counts: Counter[str] = Counter()
        for char, count in Counter(self.text).items():
            if char.isalpha():
                counts[script_code(char)] += count
        return counts

    @cached_property
    def vietnamese(self) -> int:
        """How many words have letters that only Vietnamese uses."""
        return len(vietnamese_words(self.text))
