"""Positions in the original of the letters of a folded text, computed only for candidates."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, compress

from worker.rules.folding.fold import ASCII_TABLES, SEPARATOR, TABLES, Fold
from worker.rules.folding.stream import folded_chars

_IS_LETTER = {fold: bytes(int(letter != 32) for letter in table) for fold, table in ASCII_TABLES.items()}
CHUNK = 64
"""Code points folded at a time to find a position: small to scan, large to skip fast."""

WALK = 16
"""Code points that one scan of the whole text reads in the time of one look-up (measured): more look-ups than
``len(text) / WALK`` are served by one scan."""


class LetterPositions:
    """The original code point of the n-th letter of a folded text.

    Letters, not all characters, are counted: spaces are squeezed in the folded text, letters never are.
    """

    __slots__ = ("_before", "_fold", "_lookups", "_places", "_text")

    def __init__(self, text: str, fold: Fold) -> None:
        self._text, self._fold = text, fold
        self._lookups = 0
        self._before: list[int] = []
        self._places: list[int] = []
        if text.isascii():
            self._places = list(compress(range(len(text)), text.encode().translate(_IS_LETTER[fold])))
        else:
            self._before = list(accumulate(self._sizes(), initial=0))

    def _sizes(self) -> Iterator[int]:
        text, table = self._text, TABLES[self._fold]
        for at in range(0, len(text), CHUNK):
            folded = text[at : at + CHUNK].translate(table)
            yield len(folded) - folded.count(" ")

    def index(self, letter: int) -> int:
        """Index in the original of the letter with this number, counted from 0."""
        if self._places:
            return self._places[letter]
        self._lookups += 1
        if self._lookups * WALK > len(self._text):
            self._places = self._all()
            return self._places[letter]
        table = TABLES[self._fold]
        chunk = bisect_right(self._before, letter) - 1
        count, at = self._before[chunk], chunk * CHUNK
        for char in self._text[at : at + CHUNK]:
            folded = table[ord(char)]
            if folded:
                count += len(folded) - folded.count(" ")
            if count > letter:
                return at
            at += 1
        return at

    def _all(self) -> list[int]:
        letters, places = folded_chars(self._text, self._fold)
        return list(compress(places, map(SEPARATOR.__ne__, letters)))
