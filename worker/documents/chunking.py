"""Cuts a document into chunks: at headings and questions, then between paragraphs, then between sentences."""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Final

from worker.documents.model import TITLE_CHARS, Block, Chunk, ParsedDocument
from worker.documents.sentences import sentence_spans

CHUNKING_VERSION: Final = 3
"""Raised when documents would be cut differently, so that an unchanged file is cut again."""

SEPARATOR: Final = " › "
QUESTION_LEVEL: Final = 7
"""Level of a question that stands alone, as on a page of questions and answers: below every heading."""
QUESTION_CHARS: Final = 160
QUESTION_MARKS: Final = ("?", "？", "؟")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkBounds:
    """Sizes in columns: a Han character, kana or Hangul syllable counts 2, because it carries more text.

    Attributes:
        most: largest chunk; 1,200 columns are 250 to 400 tokens, below the 512 that many models embed.
        least: a heading starts a new chunk only if the chunk before has this size.
        overlap: largest part of the chunk before that is repeated after a cut inside a paragraph.
    """

    most: int = 1200
    least: int = 300
    overlap: int = 150


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, heading or row of a table: ``text[start:end]``, and the headings above.

    Attributes:
        page: of its block.
        head: start and end of its table's head, which a chunk that starts here repeats; None for others.
    """

    start: int
    end: int
    level: int
    ends_block: bool
    path: tuple[str, ...]
    page: int = 0
    head: tuple[int, int] | None = None


def document_chunks(
    document: ParsedDocument, *, title: str, bounds: ChunkBounds = ChunkBounds()
) -> tuple[Chunk, ...]:
    """A document's chunks in order; every character except white space is in at least one.

    A chunk that starts inside a table repeats the table's head.
    """
    text = document.text
    widths = _widths(text)
    found: list[Chunk] = []
    for group in _groups(_pieces(document, text, widths, bounds), widths, bounds):
        start, end = _trimmed(text, group[0].start, group[-1].end)
        if start < end:
            path = next((piece.path for piece in group if not piece.level), group[-1].path)
            if sum(piece.level == QUESTION_LEVEL for piece in group) > 1:  # the first one heads them not all
                path = tuple(name for name in path if not _is_question(name))
            number, names = len(found) + 1, _title(title, path)
            body = _repeated_head(text, group[0]) + text[start:end]
            page = group[0].page
            found.append(Chunk(number=number, title=names, text=body, start=start, end=end, page=page))
    return tuple(found)


def _groups(pieces: Iterator[_Piece], widths: array[int], bounds: ChunkBounds) -> Iterator[list[_Piece]]:
    """Pieces grouped into chunks, each as large as the bounds and the structure allow."""

    def size(group: list[_Piece]) -> int:
        head = group[0].head
        return (
            widths[group[-1].end]
            - widths[group[0].start]
            + (widths[head[1]] - widths[head[0]] if head else 0)
        )

    current: list[_Piece] = []
    for piece in pieces:
        if piece.level and any(not each.level for each in current) and size(current) >= bounds.least:
            yield current
            current = []
        while current and size([*current, piece]) > bounds.most:
            cut = _cut(current, lambda group: 2 * size(group) >= bounds.most)
            yield current[:cut]
            rest = current[cut:]
            current = rest or _overlap(current, piece, widths, bounds)
        current.append(piece)
    if current:
        yield current


def _cut(group: list[_Piece], enough: Callable[[list[_Piece]], bool]) -> int:
    """The end of a full chunk: after its last whole block if enough remains, never after a heading."""
    for cut in range(len(group), 0, -1):
        if group[cut - 1].ends_block and not group[cut - 1].level and enough(group[:cut]):
            return cut
    cut = len(group)
    while cut > 1 and group[cut - 1].level and any(not each.level for each in group[:cut]):
        cut -= 1
    return cut


def _overlap(group: list[_Piece], piece: _Piece, widths: array[int], bounds: ChunkBounds) -> list[_Piece]:
    """The last sentences of the paragraph that ``piece`` continues."""
    first = len(group)
    while (
        first > 0
        and not group[first - 1].ends_block
        and not group[first - 1].head
        and widths[group[-1].end] - widths[group[first - 1].start] <= bounds.overlap
        and widths[piece.end] - widths[group[first - 1].start] <= bounds.most
    ):
        first -= 1
    return group[first:]


def _pieces(document: ParsedDocument, text: str, widths: array[int], bounds: ChunkBounds) -> Iterator[_Piece]:
    """Headings as a whole, other text by sentence, and by width where a sentence is too long."""
    longest = bounds.most * 3 // 4
    path: list[tuple[int, str]] = []
    at = 0
    for block, level in zip(document.blocks, _levels(document.blocks), strict=True):
        end = at + len(block.text)
        if level:
            path = [each for each in path if each[0] < level] + [(level, block.text)]
        names = tuple(name for _, name in path)
        heading = level if widths[end] - widths[at] <= longest else 0
        if block.is_table:
            yield from _rows(block, (text, at, widths), bounds, names)
        else:
            spans = [(at, end)] if heading else list(_sentences(text, at, end, widths, longest))
            for start, finish in spans:
                yield _Piece(start, finish, heading, finish == end, names, block.page)
        at = end + 2


def _rows(
    block: Block, place: tuple[str, int, array[int]], bounds: ChunkBounds, names: tuple[str, ...]
) -> Iterator[_Piece]:
    """A table's rows, whole ones unless a row is too long for a chunk."""
    text, at, widths = place
    end, first = at + len(block.text), at + block.head
    head = (at, first) if 0 < widths[first] - widths[at] <= bounds.most // 3 else None
    longest = bounds.most * 3 // 4 - (widths[first] - widths[at] if head else 0)
    start = at
    for line in block.text.splitlines(keepends=True):
        finish = start + len(line)
        is_long = widths[finish] - widths[start] > longest
        spans = list(_sentences(text, start, finish, widths, longest)) if is_long else [(start, finish)]
        for left, right in spans:
            yield _Piece(left, right, 0, right == end, names, block.page, head if left >= first else None)
        start = finish


def _repeated_head(text: str, piece: _Piece) -> str:
    """The head of the table inside which a chunk starts, unless the chunk starts with it."""
    return text[piece.head[0] : piece.head[1]] if piece.head else ""


def _levels(blocks: Sequence[Block]) -> list[int]:
    """The level of each block; of several questions that stand alone each heads the answer after it."""
    alone = [not block.level and _is_question(block.text) for block in blocks]
    several = sum(alone) > 1
    return [
        QUESTION_LEVEL if several and question else block.level
        for block, question in zip(blocks, alone, strict=True)
    ]


def _is_question(text: str) -> bool:
    return text.endswith(QUESTION_MARKS) and "\n" not in text and len(text) <= QUESTION_CHARS


def _sentences(text: str, at: int, end: int, widths: array[int], longest: int) -> Iterator[tuple[int, int]]:
    for start, finish in sentence_spans(text[at:end]):
        first, last = at + start, at + finish
        while widths[last] - widths[first] > longest:
            cut = _fitting(text, first, last, widths, longest)
            yield first, cut
            first = cut
        yield first, last


def _fitting(text: str, first: int, last: int, widths: array[int], longest: int) -> int:
    """The furthest end that fits: after white space in the second half, else before a base character."""
    end = first + 1
    while end < last and widths[end + 1] - widths[first] <= longest:
        end += 1
    second_half = range(end, first + (end - first) // 2, -1)
    after_space = (cut for cut in second_half if text[cut - 1].isspace())
    before_base = (cut for cut in second_half if not unicodedata.combining(text[cut]))
    return next(chain(after_space, before_base), end)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _title(title: str, path: tuple[str, ...]) -> str:
    names = path[1:] if path and path[0] == title else path
    return SEPARATOR.join(part for part in (title, *names) if part)[:TITLE_CHARS]


def _widths(text: str) -> array[int]:
    """The columns before each character, and those of the whole text; an ASCII character has one."""
    return array("I", range(len(text) + 1) if text.isascii() else accumulate(map(_width, text), initial=0))


def _width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
