"""Folded streams of one text for the automaton, each with its positions in the original."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from operator import ne

from worker.rules.folding.fold import ASCII_TABLES, TABLES, Fold

SPACELESS_RANGES = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u3007\u3021-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Hangul, Khmer, kana and Han: blocks whose folds are one token per character."""

_INDIC_MARKS = "".join(
    char for point in range(0x900, 0xE00) if unicodedata.category(char := chr(point))[0] == "M"
)
_VIRAMAS = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d"
_LETTER, _SIGNS = rf"[^ \0{SPACELESS_RANGES}]", rf"(?:[{_VIRAMAS}][^ {_INDIC_MARKS}]|[{_INDIC_MARKS}])*"
SPACED = re.compile(
    rf"(?<= )({_LETTER})\1*{_SIGNS}(?: ({_LETTER})\2*{_SIGNS})(?: ({_LETTER})\3*{_SIGNS})+(?= )"
)
"""Three or more single letters in a row, repeated or with their Indic signs."""
ONE_LETTER_WORDS_BEFORE = frozenset("aeiouyàèéóавеийікосуюяєоήηο")
"""Words of one letter that may precede spaced letters (``a s l u t`` contains ``slut``): articles,
prepositions and pronouns of languages in Latin, Cyrillic and Greek script; Hebrew writes them as part of a
word."""
ONE_LETTER_WORDS_AFTER = frozenset("aiавиікосуяєοη")
"""One-letter words after spaced letters: without ``e``, ``o``, ``y``, which end many English words."""


@dataclass(frozen=True, slots=True)
class FoldedStream:
    """A folded text: words and their separators, one space between words, one at each end.

    Attributes:
        chars: what the automaton reads.
        starts: for each of ``chars`` the original index of its first code point.
        ends: for each of ``chars`` the original index of its last code point.
    """

    fold: Fold
    chars: str
    starts: list[int]
    ends: list[int]


def folded_stream(text: str, fold: Fold) -> FoldedStream:
    """The folded stream of a text; the same characters as the fast path of ``scan``."""
    letters, places = folded_chars(text, fold)
    chars = f" {letters} "
    places = [0, *places, len(text)]
    keep = [char != " " or before != " " for char, before in zip(chars, f"x{chars}", strict=False)]
    starts = list(compress(places, keep))
    return FoldedStream(fold, "".join(compress(chars, keep)), starts, starts)


def folded_chars(text: str, fold: Fold) -> tuple[str, list[int]]:
    """The fold of a text with all spaces, and for each character its index in the original."""
    if text.isascii():
        return text.encode().translate(ASCII_TABLES[fold]).decode(), list(range(len(text)))
    table = TABLES[fold]
    parts = [table[ord(char)] or "" for char in text]
    return "".join(parts), [at for at, part in enumerate(parts) for _ in part]


def collapsed_stream(stream: FoldedStream) -> FoldedStream:
    """The stream with every run of one letter written once."""
    chars = stream.chars
    first = list(map(ne, chars, f"\0{chars}"))
    last = [*first[1:], True]
    return FoldedStream(
        stream.fold,
        "".join(compress(chars, first)),
        list(compress(stream.starts, first)),
        list(compress(stream.ends, last)),
    )


def joined_streams(stream: FoldedStream, text: str) -> list[FoldedStream]:
    """Readings of the stream with spaced letters (``s l u t``) joined to words; empty when there are none.

    The readings differ in their treatment of one-letter words at the edges and of wider gaps inside.
    """
    regions = [found.span() for found in SPACED.finditer(stream.chars)]
    found = [_region(stream, text, span) for span in regions if not _continues(stream, text, *span)]
    if not found:
        return []
    gap_choices = {
        tuple(region.word_gaps for region in found),
        tuple(region.blanks for region in found),
        (frozenset(),) * len(found),
    }
    readings = {
        tuple(
            at
            for region, gaps in zip(found, choice, strict=True)
            for at in region.dropped(gaps, before=before, after=after)
        )
        for choice in gap_choices
        for before in {False, any(region.before for region in found)}
        for after in {False, any(region.after for region in found)}
    }
    return [_without(stream, dropped) for dropped in sorted(readings) if dropped]


@dataclass(frozen=True, slots=True)
class SpacedRegion:
    """A row of spaced letters.

    Attributes:
        spaces: indices of its spaces in the stream.
        word_gaps: numbers of the gaps that differ from the others and may separate words.
        blanks: numbers of the gaps with more white space than the others.
        before: whether its first letter may be a word.
        after: whether its last letter may be a word.
    """

    spaces: list[int]
    word_gaps: frozenset[int]
    blanks: frozenset[int]
    before: bool
    after: bool

    def dropped(self, gaps: frozenset[int], *, before: bool, after: bool) -> list[int]:
        """The spaces that one reading drops when it keeps these gaps between words."""
        kept = set(gaps)
        if before and self.before:
            kept.add(0)
        if after and self.after:
            kept.add(len(self.spaces) - 1)
        return [at for number, at in enumerate(self.spaces) if number not in kept]


def _region(stream: FoldedStream, text: str, span: tuple[int, int]) -> SpacedRegion:
    start, end = span
    spaces = [at for at in range(start, end) if stream.chars[at] == " "]
    gaps = [_visible(text[stream.ends[at - 1] + 1 : stream.starts[at + 1]]) for at in spaces]
    word_gaps, wide, blank = _short_kinds(tuple(gaps)) if len(gaps) <= SHORT else _gap_kinds(tuple(gaps))
    elided = _elided(text, stream.starts[start] - 1), _elided(text, stream.ends[end - 1] + 1)
    last = stream.chars[end - 1]
    followed = end + 1 < len(stream.chars) or _is_indic(last)
    return SpacedRegion(
        spaces,
        word_gaps,
        wide,
        before=elided[0] or (blank and _is_word(text[stream.starts[start]], ONE_LETTER_WORDS_BEFORE)),
        after=elided[1]
        or (blank and followed and _is_word(text[stream.ends[end - 1]], ONE_LETTER_WORDS_AFTER)),
    )


def _gap_kinds(gaps: tuple[str, ...]) -> tuple[frozenset[int], frozenset[int], bool]:
    """The gaps that separate words, the wide gaps, and whether all gaps are white space."""
    return _word_gaps(gaps), _wide(gaps), all(gap.isspace() for gap in gaps)


_short_kinds = lru_cache(maxsize=1024)(_gap_kinds)
SHORT = 16
"""Most gaps of a cached row: longer rows do not recur and would occupy memory."""


@lru_cache(maxsize=1024)
def _visible(gap: str) -> str:
    native = TABLES[Fold.NATIVE]
    return "".join(char for char in gap if native[ord(char)])


def _elided(text: str, at: int) -> bool:
    """Whether an apostrophe at this index joins a letter to the next word (``c'est``, ``it's``)."""
    return 0 < at < len(text) - 1 and text[at] in "'’" and text[at - 1].isalpha() and text[at + 1].isalpha()


def _wide(gaps: tuple[str, ...]) -> frozenset[int]:
    """Gaps with more white space than the narrowest: signs separate the letters, spaces the words."""
    if len(set(gaps)) == 1:
        return frozenset()
    spaces = [sum(map(str.isspace, gap)) for gap in gaps]
    narrowest = min(spaces)
    return frozenset(at for at, count in enumerate(spaces) if count > narrowest)


def _continues(stream: FoldedStream, text: str, start: int, end: int) -> bool:
    """Whether a sign next to the region is its next letter: ``t_i_t_@_n`` is not ``t_i_t``."""
    if _is_one_letter(stream, stream.chars.rfind(" ", 0, max(0, start - 1)) + 1, start - 1):
        return True
    if _is_one_letter(stream, end + 1, stream.chars.find(" ", end + 1)):
        return True
    usual = text[stream.ends[start] + 1 : stream.starts[start + 2]].strip() if end - start > 2 else ""
    if not usual:
        return False
    before = re.split(r"\w", text[max(0, stream.starts[start] - 3) : stream.starts[start]])[-1]
    after = re.split(r"\w", text[stream.ends[end - 1] + 1 : stream.ends[end - 1] + 4])[0]
    return any(usual in gap and has_sign(gap, usual) for gap in (before, after))


def _is_one_letter(stream: FoldedStream, start: int, end: int) -> bool:
    """Whether a word next to spaced letters is one letter that looks like two (``ы``)."""
    return end - start > 1 and stream.starts[start] == stream.starts[end - 1]


def _is_word(letter: str, words: frozenset[str]) -> bool:
    return letter.casefold() in words or _is_indic(letter)


def _is_indic(letter: str) -> bool:
    """Whether a letter is of an Indic script, which has many words of one syllable (one token here)."""
    return "\u0900" <= letter <= "\u0dff"


def _word_gaps(gaps: tuple[str, ...]) -> frozenset[int]:
    """The gaps that separate words: those that differ from most gaps of the region."""
    if len(set(gaps)) == 1:
        return frozenset()
    kinds = [(sum(map(str.isspace, gap)), "".join(gap.split())) for gap in gaps]
    usual = Counter(kinds).most_common(1)[0][0]
    return frozenset(at for at, kind in enumerate(kinds) if kind != usual and not has_sign(kind[1], usual[1]))


def has_sign(gap: str, usual: str) -> bool:
    """Whether a gap contains a sign that may be a letter and does not separate the other letters."""
    return any((TABLES[Fold.SIGNS][ord(char)] or "").strip() and char not in usual for char in gap)


def _without(stream: FoldedStream, dropped: tuple[int, ...]) -> FoldedStream:
    keep = bytearray(b"\1") * len(stream.chars)
    for at in dropped:
        keep[at] = 0
    return FoldedStream(
        stream.fold,
        "".join(compress(stream.chars, keep)),
        list(compress(stream.starts, keep)),
        list(compress(stream.ends, keep)),
    )
