"""The way back from a folded text to the original, worked out only where something was found."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from worker.rules.fold import TABLES, Fold

CHUNK = 64
"""Code points folded at a time to find a place: small enough to walk through, large enough to skip fast."""

MANY = 16
"""Look-ups after which the whole text is walked once instead of a chunk each time."""


class Origin:
    """Finds for the n-th letter of a folded text the original code point it was folded from.

    Letters, not all characters, are counted: spaces are squeezed in the folded text, letters never are.
    """

    __slots__ = ("_before", "_fold", "_lookups", "_places", "_text")

    def __init__(self, text: str, fold: Fold) -> None:
        self._text, self._fold = text, fold
        table = TABLES[fold]
        sizes = (
            len(text[at : at + CHUNK].translate(table).replace(" ", "")) for at in range(0, len(text), CHUNK)
        )
        self._before = list(accumulate(sizes, initial=0))
        self._lookups = 0
        self._places: list[int] = []

    def index(self, letter: int) -> int:
        """Index in the original of the letter with that number, counted from 0."""
        self._lookups += 1
        if self._lookups > MANY:
            self._places = self._places or self._all()
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
        table, places = TABLES[self._fold], []
        for at, char in enumerate(self._text):
            folded = table[ord(char)]
            if folded and folded != " ":
                places += [at] * (len(folded) - folded.count(" "))
        return places
