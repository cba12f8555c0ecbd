"""A text with the places where rules matched marked, so that what is shown reads and copies as it was."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from markupsafe import Markup

Span: TypeAlias = tuple[int, int]
JOINER: Final = "\N{ZERO WIDTH JOINER}"
SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
FLAG_LETTERS: Final = range(0x1F1E6, 0x1F200)
UNSEEN: Final = frozenset({"Cf", "Cc", "Zl", "Zp"})
"""General categories of characters that have no shape of their own."""
TURNING: Final = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Controls that turn the direction of what follows: a text can read otherwise than it is with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of a text under the same marks.

    Attributes:
        numbers: of the spans that cover it; empty for plain text.
        ends: of those, the spans that end with this piece.
    """

    text: str
    numbers: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()


def pieces(text: str, spans: Mapping[int, Span]) -> tuple[Piece, ...]:
    """The text cut where a span begins or ends; put together again it is the text.

    Spans, each under its number, are code points, half open, in any order; they may overlap, touch and reach
    beyond the text, which may be the beginning of a longer one. A span that would cut what is drawn as one
    character, such as a letter and its accent, marks the whole of it.
    """
    shown = [(number, _whole(text, span)) for number, span in spans.items()]
    shown = [(number, span) for number, span in shown if span[0] < span[1]]
    edges = sorted({0, len(text), *(edge for _, span in shown for edge in span)})
    return tuple(
        Piece(
            text=text[start:end],
            numbers=tuple(number for number, span in shown if span[0] <= start and end <= span[1]),
            ends=tuple(number for number, span in shown if span[1] == end),
        )
        for start, end in pairwise(edges)
    )


def marked(text: str, spans: Mapping[int, Span]) -> Markup:
    """The same as HTML; numbers and names of unseen characters stand in attributes, so nobody copies them."""
    return Markup("").join(_html(piece) for piece in pieces(text, spans))


def place(text: str, span: Span) -> str:
    """Where a span lies in what is kept of a text, in words."""
    start, end = span
    where = f"characters {start + 1} to {end}" if end - start != 1 else f"character {end}"
    if start >= len(text):
        return f"{where}, beyond the part that is kept"
    return f"{where}, in part beyond what is kept" if end > len(text) else where


def _html(piece: Piece) -> Markup:
    if not piece.numbers:
        return _named(piece.text, TURNING.__contains__)
    kind = "twice" if len(piece.numbers) > 1 else "once"
    ends = ", ".join(map(str, piece.ends))
    return Markup('<mark class="{}" data-ends="{}">{}</mark>').format(kind, ends, _named(piece.text, _unseen))


def _named(text: str, wanted: Callable[[str], bool]) -> Markup:
    """A text in which the wanted characters, which cannot be seen, have a name."""
    return Markup("").join(
        Markup('<span class="unseen" data-code="{}">{}</span>').format(f"U+{ord(each):04X}", each)
        if wanted(each)
        else Markup("{}").format(each)
        for each in text
    )


def _unseen(character: str) -> bool:
    return unicodedata.category(character) in UNSEEN and character not in "\n\r\t"


def _whole(text: str, span: Span) -> Span:
    start, end = (min(max(edge, 0), len(text)) for edge in span)
    if start >= end:
        return start, start
    while start > 0 and _joined(text, start):
        start -= 1
    while end < len(text) and _joined(text, end):
        end += 1
    return start, end


def _joined(text: str, place: int) -> bool:
    """Whether the character at a place is drawn together with the one before it."""
    before, here = text[place - 1], text[place]
    if unicodedata.category(here).startswith("M") or here == JOINER or ord(here) in SKIN_TONES:
        return True
    if before == JOINER:
        return unicodedata.category(here) == "So"
    if ord(here) in FLAG_LETTERS:
        return _flag_letters_before(text, place) % 2 == 1
    return before == "\r" and here == "\n"


def _flag_letters_before(text: str, place: int) -> int:
    """How many letters of flags stand right before a place: every two are one flag."""
    start = place
    while start > 0 and ord(text[start - 1]) in FLAG_LETTERS:
        start -= 1
    return place - start
