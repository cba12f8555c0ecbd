"""The strict level: masked letters, splits, glued words and one typo, looked up word by word.

It covers rules of one word with at least ``MIN_STRICT`` letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from worker.rules.folding.fold import Fold
from worker.rules.folding.forms import folded_words
from worker.rules.folding.near_words import NearWords
from worker.rules.folding.stream import FoldedStream, folded_stream
from worker.rules.model import MatchMethod, Rule, RuleKind

MIN_STRICT = 4
"""Fewest letters of a rule for masks and splits at signs."""
MIN_TYPO = 5
"""Fewest letters of a rule for a typo or a split at a space: shorter words have too many neighbours."""
MAX_PIECES = 4
"""Most pieces of a word split by spaces; pieces separated by signs are not counted."""
MASKS = frozenset("*#%&?^-_.·•")
"""Signs that hide a letter or separate the letters of a word."""

NearMatch = tuple[int, int, int, MatchMethod]
"""Rule number, first and one-past-last index, method."""


@dataclass(frozen=True, slots=True)
class LetterRun:
    """A run of letters of the text: its folded letters and its span."""

    letters: str
    start: int
    end: int


class StrictIndex:
    """The rules by their letters."""

    def __init__(self, rules: Iterable[tuple[int, Rule]]) -> None:
        self._words: dict[str, list[int]] = {}
        for number, rule in rules:
            word = folded_words(rule.core, Fold.NATIVE)
            plain = rule.kind is not RuleKind.REGEX and not (rule.open_start or rule.open_end)
            if plain and len(word) >= MIN_STRICT and word.isalpha():
                self._words.setdefault(word, []).append(number)
        self._near = NearWords(self._words)

    def find(self, text: str) -> Iterator[NearMatch]:
        """All words of the text that are nearly a rule."""
        pieces = _pieces(folded_stream(text, Fold.NATIVE))
        for at, piece in enumerate(pieces):
            for word in self._typos(piece.letters):
                yield from self._all(word, piece.start, piece.end, MatchMethod.TYPO)
            yield from self._from(pieces, at, text)

    def _all(self, word: str, start: int, end: int, how: MatchMethod) -> Iterator[NearMatch]:
        for number in self._words.get(word, ()):
            yield number, start, end, how

    def _typos(self, letters: str) -> Iterator[str]:
        """The rules at one edit with the same first letter."""
        if len(letters) < MIN_STRICT or not letters.isalpha():
            return
        for word in self._near.near(letters):
            begins = word.startswith(letters) or letters.startswith(word)  # plurals, other words
            if len(word) >= MIN_TYPO and word[0] == letters[0] and not begins:
                yield word

    def _from(self, pieces: list[LetterRun], first: int, text: str) -> Iterator[NearMatch]:
        """Words whose pieces start at ``first``: split by signs or spaces, or with masked letters."""
        letters, spaces, longest = pieces[first].letters, 0, len(pieces[first].letters)
        for at in range(first + 1, min(first + 12, len(pieces))):
            gap = text[pieces[at - 1].end : pieces[at].start]
            masks = sum(char in MASKS for char in gap)
            blank = any(map(str.isspace, gap))
            spaces += blank
            if spaces >= MAX_PIECES or (blank and masks) or len(gap) > 3:
                return
            start, end = pieces[first].start, pieces[at].end
            if masks == 1 and not blank and at == first + 1:
                yield from self._masked(letters, pieces[at].letters, start, end)
            letters += pieces[at].letters
            longest = max(longest, len(pieces[at].letters))
            enough = len(letters) >= (MIN_TYPO if spaces else MIN_STRICT)
            if longest > 1 and enough and letters in self._words:
                yield from self._all(letters, start, end, MatchMethod.SEPARATED)

    def _masked(self, left: str, right: str, start: int, end: int) -> Iterator[NearMatch]:
        for word in self._near.by_spelling.get(left + right, ()):
            if word.startswith(left) and word.endswith(right) and len(word) == len(left) + len(right) + 1:
                yield from self._all(word, start, end, MatchMethod.MASKED)


def _pieces(stream: FoldedStream) -> list[LetterRun]:
    pieces, at = [], 0
    for letters in stream.chars.split(" "):
        if letters:
            last = at + len(letters) - 1
            pieces.append(LetterRun(letters, stream.starts[at], stream.ends[last] + 1))
        at += len(letters) + 1
    return pieces
