"""What a passage states, in sentences of their own: headings apart, rows with the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?![a-z])|(?<=[。！？])|\n+")
"""Not before a small letter: "9 a.m. to 5 p.m. on weekdays" is one sentence."""
CELL_END = re.compile(r"\s*\|\s*")
CELLS = " | "
MARK = re.compile(r"[-*•–]\s+|[QA][.:]\s+")
HEADING = re.compile(r"(?![-*•–]\s)(?:[^\d|]{1,80}(?<![.!?:;,。！？])|.{1,160}[?？])")
"""A line above others that may be their heading: a question, or a short line without digits or full stop."""
ENDED = re.compile(r".*[.!?:;。！？]")
WRAPPED_CHARS = 50
"""Least width of a passage whose lines can be parts of longer ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence that can stand alone in a reply.

    Attributes:
        text: a sentence, a list item or an answer without its mark, or a row with the names of its columns.
        quotes: the parts of the passage that say it.
        heading: the heading above; empty for none.
        is_heading: the text may be a heading, which states little.
        is_row: the text was made from a row of a table.
    """

    text: str
    quotes: tuple[str, ...]
    heading: str = ""
    is_heading: bool = False
    is_row: bool = False


@lru_cache(maxsize=1024)
def statements(text: str) -> tuple[Statement, ...]:
    """The statements of a passage, in order."""
    return tuple(_statements(_unwrapped([line.strip() for line in text.splitlines() if line.strip()])))


def _unwrapped(lines: list[str]) -> list[str]:
    """Lines of a text that was wrapped at a width, joined again."""
    width = max(map(len, lines), default=0)
    found: list[str] = []
    last = ""
    for line in lines:
        if last and _goes_on(last, line, width):
            found[-1] += f" {line}"
        else:
            found.append(line)
        last = line
    return found


def _goes_on(line: str, after: str, width: int) -> bool:
    """Whether a sentence goes on in the next line: it begins small, or its first word had no room."""
    if CELLS in line or CELLS in after or ENDED.fullmatch(line) or MARK.match(after):
        return False
    no_room = len(line) + 1 + len(after.split(maxsplit=1)[0]) > width >= WRAPPED_CHARS
    return after[0].islower() or no_room


def _statements(lines: list[str]) -> Iterator[Statement]:
    heading, head = "", ""
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        if CELLS in line:
            if not head and CELLS in after and not any(map(str.isdigit, line)):
                head = line
            else:
                quotes = (head, line) if head else (line,)
                yield Statement(text=_row_sentence(head, line), quotes=quotes, heading=heading, is_row=True)
            continue
        head = ""
        if after and HEADING.fullmatch(line):
            heading = MARK.sub("", line, count=1)
            yield Statement(text=heading, quotes=(heading,), is_heading=True)
            continue
        for part in filter(None, map(str.strip, SENTENCE_END.split(MARK.sub("", line, count=1)))):
            yield Statement(text=part, quotes=(part,), heading=heading)


def _row_sentence(head: str, row: str) -> str:
    """``product | price`` and ``Lamp | 12 EUR`` as ``Product Lamp: price 12 EUR.``."""
    names = CELL_END.split(head) if head else []
    pairs = zip_longest(names, CELL_END.split(row), fillvalue="")
    first, *others = (f"{name} {cell}".strip() if cell else "" for name, cell in pairs)
    sentence = ": ".join(filter(None, (first, ", ".join(filter(None, others)))))
    return f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}."
