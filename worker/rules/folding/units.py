"""The letters of a folded text, each with its original character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from worker.rules.folding.fold import TABLES, Fold
from worker.rules.folding.stream import SPACELESS_RANGES

_SPACELESS = re.compile(f"[{SPACELESS_RANGES}]")


@dataclass(slots=True)
class LetterUnit:
    """One letter of a folded text.

    Attributes:
        letter: the coarse letter that the fold wrote.
        char: the original character.
        at: index of that character.
        gap: original text between this letter and the one before, if the fold reads a separator there.
    """

    letter: str
    char: str
    at: int
    gap: str = ""


def letter_units(text: str, fold: Fold, start: int = 0, end: int | None = None) -> Iterator[LetterUnit]:
    """The letters of ``text[start:end]`` under a fold, with the gaps between them."""
    table, gap_from, last = TABLES[fold], -1, start
    for at in range(start, len(text) if end is None else end):
        char = text[at]
        folded = table[ord(char)] or ""
        if not folded:
            continue
        letters = folded.strip()
        if not letters:
            gap_from = last if gap_from < 0 else gap_from
            continue
        for letter in letters.replace(" ", ""):
            yield LetterUnit(letter, char, at, text[gap_from:at] if gap_from >= 0 else "")
            gap_from = -1
        last = at + 1


@lru_cache(maxsize=16384)
def rule_units(core: str, fold: Fold) -> tuple[LetterUnit, ...]:
    """The letters of a rule under a fold."""
    return tuple(letter_units(core, fold))


def is_spaceless(char: str) -> bool:
    """Whether the script of the character is written without spaces between words (or in syllables)."""
    return _SPACELESS.match(char) is not None
