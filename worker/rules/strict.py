"""The strict level: masked letters, splits, glued words and one typo, looked up word by word.

Rules of one word with at least ``MIN_STRICT`` letters take part. A word of the text is compared with the
rules that share it after leaving out one letter (the deletion neighbourhood of SymSpell, Garbe 2012).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from worker.rules.fold import Fold
from worker.rules.forms import folded
from worker.rules.model import How, Rule, RuleKind
from worker.rules.stream import Stream, trace

MIN_STRICT = 4
"""Fewest letters of a rule for masks and splits at signs."""
MIN_TYPO = 5
"""Fewest letters of a rule for a typo or a split at a space: shorter words have too many neighbours."""
MAX_PIECES = 4
"""Pieces a word may be split into with spaces; pieces parted by signs are not counted."""
MASKS = frozenset("*#%&?^-_.·•")
"""Signs that stand for letters they hide, or part the letters of a word."""

Near = tuple[int, int, int, How]
"""Rule number, first and one-past-last index, how."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of letters of the text: its folded letters and where it stands."""

    letters: str
    start: int
    end: int


class StrictIndex:
    """The rules by their letters and by their letters less one."""

    def __init__(self, rules: Iterable[tuple[int, Rule]]) -> None:
        self._words: dict[str, list[int]] = {}
        self._less: dict[str, list[str]] = {}
        for number, rule in rules:
            word = folded(rule.core, Fold.NATIVE)
            plain = rule.kind is not RuleKind.REGEX and not (rule.open_start or rule.open_end)
            if plain and len(word) >= MIN_STRICT and word.isalpha():
                self._words.setdefault(word, []).append(number)
        for word in self._words:
            for less in _deletions(word):
                self._less.setdefault(less, []).append(word)

    def find(self, text: str) -> Iterator[Near]:
        """Every word of the text that is nearly a rule."""
        pieces = _pieces(trace(text, Fold.NATIVE))
        for at, piece in enumerate(pieces):
            for how, word in self._typos(piece.letters):
                yield from self._all(word, piece.start, piece.end, how)
            yield from self._from(pieces, at, text)

    def _all(self, word: str, start: int, end: int, how: How) -> Iterator[Near]:
        for number in self._words.get(word, ()):
            yield number, start, end, how

    def _typos(self, letters: str) -> Iterator[tuple[How, str]]:
        """Rules one insertion, deletion, exchange or replacement away, with the same first letter."""
        if len(letters) < MIN_STRICT or not letters.isalpha():
            return
        near = set(self._less.get(letters, ()))
        for less in _deletions(letters):
            if less in self._words:
                near.add(less)
            near.update(word for word in self._less.get(less, ()) if _one_apart(letters, word))
        for word in near - {letters}:
            begins = word.startswith(letters) or letters.startswith(word)  # plurals, other words
            if len(word) >= MIN_TYPO and word[0] == letters[0] and not begins:
                yield How.TYPO, word

    def _from(self, pieces: list[Piece], first: int, text: str) -> Iterator[Near]:
        """Words whose pieces begin at ``first``: split by signs or spaces, or with letters masked."""
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
            if (
                longest > 1
                and letters in self._words
                and len(letters) >= (MIN_TYPO if spaces else MIN_STRICT)
            ):
                yield from self._all(letters, start, end, How.SEPARATED)

    def _masked(self, left: str, right: str, start: int, end: int) -> Iterator[Near]:
        for word in self._less.get(left + right, ()):
            if word.startswith(left) and word.endswith(right) and len(word) == len(left) + len(right) + 1:
                yield from self._all(word, start, end, How.MASKED)


def _deletions(word: str) -> set[str]:
    return {word[:at] + word[at + 1 :] for at in range(len(word))}


def _one_apart(left: str, right: str) -> bool:
    """Whether two words of one length differ by one letter or by two neighbours exchanged."""
    if len(left) != len(right):
        return False
    differ = [at for at in range(len(left)) if left[at] != right[at]]
    if len(differ) == 1:
        return True
    return (
        len(differ) == 2
        and differ[1] == differ[0] + 1
        and sorted((left[differ[0]], left[differ[1]])) == sorted((right[differ[0]], right[differ[1]]))
    )


def _pieces(stream: Stream) -> list[Piece]:
    pieces, at = [], 0
    for letters in stream.chars.split(" "):
        if letters:
            last = at + len(letters) - 1
            pieces.append(Piece(letters, stream.starts[at], stream.ends[last] + 1))
        at += len(letters) + 1
    return pieces
