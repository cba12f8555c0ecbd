"""The values of a document before it is stored."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

TITLE_CHARS: Final = 300
FIRST_LINE_CHARS: Final = 80
LIST_MARK: Final = re.compile(r"^(?:[-*+•·#>|\s]+|\d{1,3}[.)]\s+)")


class DocumentFormat(StrEnum):
    """The format of a document's bytes."""

    MARKDOWN = "markdown"
    HTML = "html"
    TEXT = "text"
    PDF = "pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading, paragraph, list item, table or listing, cleaned.

    Attributes:
        text: never empty, without white space at its ends.
        level: 1 to 6 for a heading, else 0.
    """

    text: str
    level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A document as its reader returns it.

    Attributes:
        title: the document's own title, or empty without one.
        blocks: in reading order.
    """

    title: str
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All blocks with a blank line between them; chunk offsets refer to this text."""
        return "\n\n".join(block.text for block in self.blocks)

    @property
    def first_line(self) -> str:
        """The first line with a letter or digit, without list marks, at most 80 characters of whole words."""
        lines = (line for block in self.blocks for line in block.text.splitlines())
        found = next((line for line in lines if any(map(str.isalnum, line))), "")
        words = LIST_MARK.sub("", " ".join(found.split()))
        return words if len(words) <= FIRST_LINE_CHARS else f"{_whole_words(words)}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a document that is stored, embedded and retrieved as one.

    Attributes:
        number: from 1.
        title: the document's title and the headings above the chunk, joined by `` › ``.
        text: ``parsed.text[start:end]``.
        start: first code point in the document's text.
        end: first code point after the chunk.
    """

    number: int
    title: str
    text: str
    start: int
    end: int

    @property
    def whole(self) -> str:
        """The text that is embedded and searched: the title path, then the chunk."""
        return f"{self.title}\n{self.text}" if self.title else self.text


def _whole_words(line: str) -> str:
    """The start of a long line, up to a space; a line without spaces is cut between characters."""
    start = line[:FIRST_LINE_CHARS]
    end = start.rfind(" ", FIRST_LINE_CHARS // 2)
    return start if end < 0 else start[:end]
