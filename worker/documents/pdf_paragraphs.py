"""Rows of a PDF as blocks: lines joined to paragraphs, also over pages, and tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from worker.documents.cleaning import clean_text, single_line
from worker.documents.model import Block, table_block
from worker.documents.pdf_glyphs import HYPHEN
from worker.documents.pdf_rows import PdfRow
from worker.documents.pdf_tables import PdfGrid

SENTENCE_END: Final = tuple(".!?:;。！？：；।؟\"”')）】")
SHORT_LINE: Final = 0.75
"""A line that ends a sentence and is shorter than this share of the page's longest line ends a paragraph."""
VERY_SHORT_LINE: Final = 0.5
"""A line shorter than this, before a capital or digit, is a heading or a list's item."""
PARAGRAPH_GAP: Final = 1.35
"""A gap between lines larger than the page's usual one by this factor parts paragraphs."""
OTHER_SIZE: Final = 0.13
LIST_START: Final = re.compile(r"(?:[•‣◦▪●○■□–—*-]|\d{1,3}[.)]|[a-z]\))\s")
HYPHENATED: Final = re.compile(r"\w+(?:[-\u2010\u2011]\w+)+")
LINE_END_HYPHEN: Final = re.compile(r"(\w*)[-\u2010]$")
KEPT_PREFIXES: Final = frozenset(
    [
        "non",
        "self",
        "e",
        "co",
        "re",
        "pre",
        "anti",
        "ex",
        "well",
        "half",
        "all",
        "cross",
        "multi",
        "semi",
        "mid",
        "low",
        "high",
        "long",
        "short",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "left",
        "right",
        "step",
        "off",
        "on",
        "in",
        "up",
        "plug",
        "wi",
        "t",
        "x",
        "click",
        "check",
        "follow",
        "state",
        "day",
        "full",
        "part",
        "pick",
        "drop",
        "near",
        "post",
        "ultra",
        "user",
        "free",
        "easy",
        "hand",
        "water",
        "heat",
        "energy",
        "sub",
        "super",
        "inter",
        "trans",
        "ready",
        "top",
        "side",
        "vice",
        "quasi",
        "eco",
    ]
)
"""First parts of words that keep their hyphen."""


def document_blocks(pages: Sequence[Sequence[PdfRow | PdfGrid]]) -> Iterator[Block]:
    """The blocks of all pages in reading order; each page's rows without running heads, and its tables."""
    text = "\n".join(part.text for parts in pages for part in parts if isinstance(part, PdfRow))
    builder = _Builder(words={each.lower() for each in HYPHENATED.findall(text)})
    for number, parts in enumerate(pages, 1):
        yield from builder.page(number, parts)
    yield from builder.flushed()


@dataclass(slots=True)
class _Builder:
    """Joins lines to paragraphs and grids to tables."""

    words: set[str]
    page_number: int = 0
    lines: list[PdfRow] = field(default_factory=list)
    grid: list[tuple[str, ...]] = field(default_factory=list)

    def page(self, number: int, parts: Sequence[PdfRow | PdfGrid]) -> Iterator[Block]:
        """The blocks that a page completes; the last one may go on over the page."""
        rows = [part for part in parts if isinstance(part, PdfRow)]
        longest = max((row.right - row.left for row in rows), default=0.0)
        pitches = [upper.bottom - lower.bottom for upper, lower in itertools.pairwise(rows)]
        usual = median(pitches) if pitches else 0.0
        is_first = True
        for part in parts:
            if isinstance(part, PdfGrid):
                yield from self._add_grid(part.rows, is_first=is_first, number=number)
            else:
                yield from self._add_line(part, longest, usual, is_first=is_first, number=number)
            is_first = False

    def flushed(self) -> Iterator[Block]:
        """The block collected so far."""
        if self.grid:
            rows = [tuple(single_line(clean_text(_plain(cell))) for cell in row) for row in self.grid]
            yield table_block(rows, page=self.page_number)
        text = self._paragraph()
        if text:
            yield Block(text=text, page=self.page_number)
        self.grid, self.lines = [], []

    def _add_grid(self, rows: list[tuple[str, ...]], *, is_first: bool, number: int) -> Iterator[Block]:
        goes_on = is_first and self.grid and len(self.grid[0]) == len(rows[0])
        if not goes_on:
            yield from self.flushed()
            self.page_number = number
        self.grid += rows[1:] if goes_on and rows[0] == self.grid[0] else rows

    def _add_line(
        self, row: PdfRow, longest: float, usual: float, *, is_first: bool, number: int
    ) -> Iterator[Block]:
        ends = self.grid or not self.lines or self._parts(row, longest, usual, is_first=is_first)
        if ends:
            yield from self.flushed()
            self.page_number = number
        self.lines.append(row)

    def _parts(self, row: PdfRow, longest: float, usual: float, *, is_first: bool) -> bool:
        """Whether a line begins another paragraph than the line above."""
        last = self.lines[-1]
        if abs(row.height - last.height) > OTHER_SIZE * last.height or LIST_START.match(row.text):
            return True
        if is_first:
            goes_on = row.text[0].islower() or last.text.endswith(("-", HYPHEN, ","))
            return last.text.endswith(SENTENCE_END) or not goes_on
        if last.bottom - row.bottom > PARAGRAPH_GAP * usual or row.bottom > last.bottom:
            return True
        length = last.right - last.left
        if length < VERY_SHORT_LINE * longest and (row.text[0].isupper() or row.text[0].isdigit()):
            return True
        return length < SHORT_LINE * longest and last.text.endswith(SENTENCE_END)

    def _paragraph(self) -> str:
        text = ""
        for row in self.lines:
            text = self._joined(text, row.text)
        return single_line(clean_text(_plain(text)))

    def _joined(self, text: str, line: str) -> str:
        """Text with the next line: a hyphen that only the line's end caused is taken out."""
        if not text or not (found := LINE_END_HYPHEN.search(text)):
            return f"{text}\n{line}"
        first = found[1]
        second = re.match(r"\w*", line)
        following = second[0] if second else ""
        if not first or not following:
            return f"{text}\n{line}"
        keeps = (
            not following[0].islower()
            or first[-1].isdigit()
            or first.isupper()
            or first.lower() in KEPT_PREFIXES
            or f"{first}-{following}".lower() in self.words
        )
        return text[:-1] + ("-" if keeps else "") + line


def _plain(text: str) -> str:
    return text.replace(HYPHEN, "-")
