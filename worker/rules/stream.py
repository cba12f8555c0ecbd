"""Foldings of one text that the automaton reads, each with the way back to the original."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from worker.rules.fold import TABLES, Fold

SPACELESS_RANGES = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u3007\u3021-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Hangul, Khmer, kana and Han: blocks whose folds are one token per character."""

_INDIC_MARKS = "".join(
    char for point in range(0x900, 0xE00) if unicodedata.category(char := chr(point))[0] == "M"
)
_VIRAMAS = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d"
_SINGLE = rf"[^ \0{SPACELESS_RANGES}](?:[{_VIRAMAS}][^ {_INDIC_MARKS}]|[{_INDIC_MARKS}])*"
SPACED = re.compile(rf"(?<= ){_SINGLE}(?: {_SINGLE}){{2,}}(?= )")
"""Three or more single letters (with their Indic signs) in a row."""
ONE_LETTER_WORDS_BEFORE = frozenset("aeiouyàèéóавеийікосуюяєоוהήηο")
"""Words of one letter that may stand before spaced letters (``a s l u t`` holds ``slut``): articles,
prepositions and pronouns of the Latin, Cyrillic and Greek languages we know."""
ONE_LETTER_WORDS_AFTER = frozenset("aiавиікосуяєοη")
"""The same after spaced letters; without ``e``, ``o``, ``y``, which end too many English words."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A folded text: words and their separators, one space between words, one at each end.

    Attributes:
        chars: what the automaton reads.
        starts: for each of ``chars`` the original index it begins at.
        ends: for each of ``chars`` the original index of its last code point.
    """

    fold: Fold
    chars: str
    starts: list[int]
    ends: list[int]


def trace(text: str, fold: Fold) -> Stream:
    """The stream of a text with its way back; the same characters as the fast path of ``scan``."""
    table, chars, starts = TABLES[fold], [" "], [0]
    for index, char in enumerate(text):
        for letter in table[ord(char)] or "":
            if letter != " " or chars[-1] != " ":
                chars.append(letter)
                starts.append(index)
    if chars[-1] != " ":
        chars.append(" ")
        starts.append(len(text))
    return Stream(fold, "".join(chars), starts, starts)


def collapse(stream: Stream) -> Stream:
    """The stream with every run of one letter written once."""
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for index, char in enumerate(stream.chars):
        if chars and chars[-1] == char:
            ends[-1] = stream.ends[index]
            continue
        chars.append(char)
        starts.append(stream.starts[index])
        ends.append(stream.ends[index])
    return Stream(stream.fold, "".join(chars), starts, ends)


def joined(stream: Stream, text: str) -> list[Stream]:
    """Readings of the stream with spaced letters (``s l u t``) written as words; empty when there are none.

    The readings differ in what they do with one-letter words at the edges and with wider gaps inside.
    """
    regions = [found.span() for found in SPACED.finditer(stream.chars)]
    if not regions:
        return []
    readings: dict[tuple[int, ...], None] = {}
    for by_gap in (False, True):
        for before in (False, True):
            for after in (False, True):
                dropped = _dropped_spaces(stream, text, regions, by_gap, before, after)
                readings.setdefault(tuple(dropped), None)
    return [_without(stream, set(dropped)) for dropped in readings if dropped]


def _dropped_spaces(
    stream: Stream, text: str, regions: list[tuple[int, int]], by_gap: bool, before: bool, after: bool
) -> list[int]:
    dropped: list[int] = []
    for start, end in regions:
        spaces = [at for at in range(start, end) if stream.chars[at] == " "]
        gaps = [text[stream.ends[at - 1] + 1 : stream.starts[at + 1]] for at in spaces]
        kept = _word_gaps(gaps) if by_gap else set()
        blank = all(gap.isspace() for gap in gaps)
        if before and blank and stream.chars[start] in ONE_LETTER_WORDS_BEFORE:
            kept.add(0)
        followed = end + 1 < len(stream.chars)
        if after and blank and followed and stream.chars[end - 1] in ONE_LETTER_WORDS_AFTER:
            kept.add(len(spaces) - 1)
        dropped += [at for number, at in enumerate(spaces) if number not in kept]
    return dropped


def _word_gaps(gaps: list[str]) -> set[int]:
    """Which gaps part words: those wider than the narrowest, or of another kind."""
    if not gaps:
        return set()
    narrow = min(gaps, key=lambda gap: (sum(char.isspace() for char in gap), len(gap)))
    limit = sum(char.isspace() for char in narrow)
    return {at for at, gap in enumerate(gaps) if sum(char.isspace() for char in gap) > limit}


def _without(stream: Stream, dropped: set[int]) -> Stream:
    keep = [at for at in range(len(stream.chars)) if at not in dropped]
    return Stream(
        stream.fold,
        "".join(stream.chars[at] for at in keep),
        [stream.starts[at] for at in keep],
        [stream.ends[at] for at in keep],
    )
