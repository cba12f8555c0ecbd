"""The values of a document before it is stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    DOCX = "docx"
    XLSX = "xlsx"
    CSV = "csv"
    MHTML = "mhtml"


TEXT_FORMATS: Final = frozenset(
    {DocumentFormat.MARKDOWN, DocumentFormat.HTML, DocumentFormat.TEXT, DocumentFormat.CSV}
)
"""Formats that a person can paste."""


class NoteCode(StrEnum):
    """What the owner of a document must know of its reading; stored."""

    NO_TEXT = "no_text"
    UNREADABLE = "unreadable"
    LITTLE_TEXT = "little_text"
    ODD_PRICES = "odd_prices"
    HIDDEN = "hidden"
    STRUCK = "struck"
    PAGE_PARTS = "page_parts"
    RUNNING_HEADS = "running_heads"
    NO_VALUES = "no_values"
    WRONG_ENCODING = "wrong_encoding"


WARNINGS: Final = frozenset(
    {
        NoteCode.NO_TEXT,
        NoteCode.UNREADABLE,
        NoteCode.LITTLE_TEXT,
        NoteCode.ODD_PRICES,
        NoteCode.NO_VALUES,
        NoteCode.WRONG_ENCODING,
    }
)
"""Notes of what replies will lack or may say wrongly; the others say what was left out by rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that a reader noticed.

    Attributes:
        count: how many pages, texts or prices.
        of: of how many pages; 0 when that says nothing.
        pages: their numbers, at most ``NOTE_PAGES``.
        examples: the beginnings of the texts concerned.
    """

    code: NoteCode
    count: int
    of: int = 0
    pages: tuple[int, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading, paragraph, list item, table or listing, cleaned.

    Attributes:
        text: never empty, without white space at its ends; each line of a table is a row.
        level: 1 to 6 for a heading, else 0.
        is_table: True for a table.
        head: characters of the text that name the table's columns, with the line feed behind them.
        page: number of the page or sheet, from 1; 0 where the format has none.
    """

    text: str
    level: int = 0
    is_table: bool = False
    head: int = 0
    page: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A document as its reader returns it.

    Attributes:
        title: the document's own title, or empty without one.
        blocks: in reading order.
        notes: what the owner of the document must know.
        pages: how many it has; 0 where the format has none.
    """

    title: str
    blocks: tuple[Block, ...]
    notes: tuple[Note, ...] = ()
    pages: int = 0

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
        text: ``parsed.text[start:end]``; where that begins inside a table, after the table's head.
        start: first code point in the document's text.
        end: first code point after the chunk.
        page: number of the page or sheet on which it starts; 0 where the format has none.
    """

    number: int
    title: str
    text: str
    start: int
    end: int
    page: int = 0

    @property
    def whole(self) -> str:
        """The text that is embedded and searched: the title path, then the chunk."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """A text of the source.

    Attributes:
        is_left_out: no passage near it holds it.
        ends_line: True for the last one of its line.
    """

    text: str
    is_left_out: bool = False
    ends_line: bool = False


def table_block(rows: Sequence[Sequence[str]], *, head: int = 0, page: int = 0) -> Block:
    """Rows of cells, each on one line, as a block; without a named head, a first row of words only is one."""
    others = "".join(map("".join, rows[1:]))
    if not head and len(rows) > 2 and names_columns(rows[0]) and any(map(str.isdigit, others)):
        head = 1
    lines = [" | ".join(cells).strip() for cells in rows]
    head = head if head < len(lines) else 0
    kept = sum(len(line) + 1 for line in lines[:head])
    return Block(text="\n".join(lines), is_table=True, head=kept, page=page)


def names_columns(row: Sequence[str]) -> bool:
    """Whether a first row can be the names of the columns: words without digits, for most columns."""
    named = sum(map(bool, row))
    return named > 1 and 2 * named > len(row) and not any(map(str.isdigit, "".join(row)))


def _whole_words(line: str) -> str:
    """The start of a long line, up to a space; a line without spaces is cut between characters."""
    start = line[:FIRST_LINE_CHARS]
    end = start.rfind(" ", FIRST_LINE_CHARS // 2)
    return start if end < 0 else start[:end]
