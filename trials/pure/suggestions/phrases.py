"""Words and runs of words of a message, as rules would be written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from worker.assessment.text.words import (
    STOP,
    comparable_unit,
    is_unspaced,
    normalised_text,
    word_tokens,
)

LONGEST: Final = 4
"""Words of the longest run."""


def written_words(text: str) -> list[str]:
    """The words in order, folded; of scripts without spaces every two characters."""
    found: list[str] = []
    for token in word_tokens(normalised_text(text).casefold()):
        found += map("".join, pairwise(token)) if is_unspaced(token) and len(token) > 1 else [token]
    return found


def word_runs(text: str, longest: int = LONGEST) -> frozenset[str]:
    """Runs of two to ``longest`` words as they follow each other, with single spaces."""
    words = [token for token in word_tokens(text.casefold()) if not is_unspaced(token)]
    return frozenset(
        " ".join(words[start : start + size])
        for size in range(2, longest + 1)
        for start in range(len(words) - size + 1)
    )


def telling_words(text: str) -> frozenset[str]:
    """Words and pairs of words that may say what a message is about: no grammar words, no numbers."""
    words = written_words(text)
    pairs = (f"{first} {second}" for first, second in _spaced_pairs(words))
    return frozenset(each for each in words if tells(each)) | frozenset(pairs)


def tells(word: str) -> bool:
    """Whether a word is neither grammar, number nor single letter."""
    return len(word) > 1 and not word.isdigit() and word not in STOP and comparable_unit(word) not in STOP


def _spaced_pairs(words: list[str]) -> Iterable[tuple[str, str]]:
    for first, second in pairwise(words):
        if tells(first) and tells(second) and not is_unspaced(first) and not is_unspaced(second):
            yield first, second
