"""A text with numbered spans over it, cut into runs that the same spans cover."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TypeAlias

from icu4py.breakers import CharacterBreaker

TextRange: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRun:
    """A part of a text that is covered by the same spans.

    Attributes:
        numbers: of the spans that cover it; empty for plain text.
        ends: the spans among them that end here.
    """

    text: str
    numbers: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()


def marked_runs(text: str, spans: Mapping[int, TextRange]) -> tuple[MarkedRun, ...]:
    """The text, cut where a span begins or ends; joined, the parts are the text.

    Spans are half-open ranges of code points under their numbers, in any order. They may overlap, touch and
    reach beyond the text, which may be the beginning of a longer text. A span that would cut one displayed
    character, such as a letter and its accent, is widened to the whole character.
    """
    edges = [0, *accumulate(map(len, CharacterBreaker(text, "root")))]
    shown = [(number, _whole_characters(edges, span)) for number, span in spans.items()]
    shown = [(number, span) for number, span in shown if span[0] < span[1]]
    cuts = sorted({0, len(text), *(cut for _number, span in shown for cut in span)})
    return tuple(
        MarkedRun(
            text=text[start:end],
            numbers=tuple(number for number, span in shown if span[0] <= start and end <= span[1]),
            ends=tuple(number for number, span in shown if span[1] == end),
        )
        for start, end in pairwise(cuts)
    )


def _whole_characters(edges: Sequence[int], span: TextRange) -> TextRange:
    """The span within the text, widened to edges of displayed characters."""
    start, end = (min(max(each, 0), edges[-1]) for each in span)
    if start >= end:
        return start, start
    return edges[bisect_right(edges, start) - 1], edges[bisect_left(edges, end)]
