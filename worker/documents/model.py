"""What a document is before it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

TITLE_CHARS: Final = 300


class Format(StrEnum):
    """How a document's bytes are to be read."""

    MARKDOWN = "markdown"
    HTML = "html"
    TEXT = "text"
    PDF = "pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading, paragraph, list item, table or listing, cleaned.

    Attributes:
        text: never empty, no white space at its ends.
        level: 1 to 6 for a heading, 0 for everything else.
    """

    text: str
    level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A document as its reader gives it.

    Attributes:
        title: the document's own title, or empty when it names none.
        blocks: in reading order.
    """

    title: str
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All blocks, a blank line between them; offsets of chunks count in this."""
        return "\n\n".join(block.text for block in self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stretch of a document that is stored, embedded and found as one.

    Attributes:
        number: from 1.
        title: the document's title and the headings in force, joined by `` › ``.
        text: ``parsed.text[start:end]``.
        start: code points from the beginning of the document's text.
        end: first code point after the chunk.
    """

    number: int
    title: str
    text: str
    start: int
    end: int

    @property
    def whole(self) -> str:
        """What is embedded and searched: the title path, then the text."""
        return f"{self.title}\n{self.text}" if self.title else self.text
