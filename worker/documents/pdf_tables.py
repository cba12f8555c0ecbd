"""Rows of a PDF page as tables, with empty cells; prose in columns is read column by column."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from worker.documents.pdf_glyphs import RuledLines
from worker.documents.pdf_rows import PdfCell, PdfRow

CLOSE: Final = 3.0
"""Rows of one table are at most this many heights apart."""
PROSE_CHARS: Final = 28
ORDERED_PROSE_CHARS: Final = 15
WRAPPED: Final = 1.2
"""Lines of one cell are nearer to each other than rows by at least this factor."""


@dataclass(frozen=True, slots=True)
class PdfGrid:
    """A table: rows of cells' texts, and its upper edge in points."""

    rows: list[tuple[str, ...]]
    top: float


def page_parts(
    rows: Sequence[PdfRow], grids: Sequence[PdfGrid], rules: RuledLines
) -> Iterator[PdfRow | PdfGrid]:
    """A page's rows, those of a table together as a grid, and the grids among them."""
    start = 0
    for grid in grids:
        end = start
        while end < len(rows) and rows[end].bottom + rows[end].top > 2 * grid.top:
            end += 1
        yield from _parts(rows[start:end], rules)
        yield grid
        start = end
    yield from _parts(rows[start:], rules)


def _parts(rows: Sequence[PdfRow], rules: RuledLines) -> Iterator[PdfRow | PdfGrid]:
    at = 0
    while at < len(rows):
        end = _table_end(rows, at)
        if end - at < 2:
            yield _single(rows[at])
            at += 1
            continue
        columns = _columns(rows[at:end])
        if len(columns) < 2 and _are_lines(rows[at:end]):
            yield PdfGrid([tuple(cell.text for cell in row.cells) for row in rows[at:end]], rows[at].top)
        elif len(columns) < 2:
            yield from map(_single, rows[at:end])
        elif _is_prose(rows[at:end], columns):
            yield from _by_column(rows[at:end], columns)
        else:
            yield PdfGrid(_grid(rows[at:end], columns, rules), rows[at].top)
        at = end


def _are_lines(rows: Sequence[PdfRow]) -> bool:
    """Whether rows whose cells stand under no columns are a name and a value each, as dots lead to them."""
    return all(len(row.cells) == 2 and any(map(str.isdigit, row.cells[1].text)) for row in rows)


def _single(row: PdfRow) -> PdfRow:
    return PdfRow(
        [PdfCell(row.text, row.left, row.right, row.cells[0].order)], row.bottom, row.top, row.is_rtl
    )


def _table_end(rows: Sequence[PdfRow], start: int) -> int:
    """The end of the table that starts at a row; a row of one cell belongs to it between others."""
    end = at = start
    while at < len(rows) and (at == start or rows[at - 1].bottom - rows[at].top < CLOSE * rows[at].height):
        if len(rows[at].cells) > 1:
            end = at + 1
        elif at == start or at - end > 1 or not _fits(rows[start:end], rows[at]):
            break
        at += 1
    return end + _ends_wrapped(rows, start, end)


def _ends_wrapped(rows: Sequence[PdfRow], start: int, end: int) -> int:
    """1 when the row behind a table is the second line of a cell in its last row, else 0."""
    if end - start < 2 or end == len(rows) or len(rows[end].cells) != 1:
        return 0
    pitches = [
        upper.bottom - lower.bottom
        for upper, lower in zip(rows[start:], rows[start + 1 : end + 1], strict=False)
    ]
    return int(pitches[-1] * WRAPPED < max(pitches) and _fits(rows[start:end], rows[end]))


def _fits(table: Sequence[PdfRow], row: PdfRow) -> bool:
    """Whether a row of one cell stands within one column of the rows before."""
    columns = _columns(table)
    return sum(_overlap(row.cells[0], column) > 0 for column in columns) == 1 and len(row.text) < 60


def _columns(rows: Sequence[PdfRow]) -> list[tuple[float, float]]:
    """Left and right of each column; a cell over several columns does not join them."""
    most = max(len(row.cells) for row in rows)
    found = _merged([cell for row in rows for cell in row.cells if len(row.cells) > 1])
    return (
        found
        if len(found) >= most
        else _merged([c for row in rows for c in row.cells if len(row.cells) == most])
    )


def _merged(cells: Sequence[PdfCell]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for left, right in sorted((cell.left, cell.right) for cell in cells):
        if found and left < found[-1][1]:
            found[-1] = (found[-1][0], max(right, found[-1][1]))
        else:
            found.append((left, right))
    return found


def _overlap(cell: PdfCell, column: tuple[float, float]) -> float:
    return min(cell.right, column[1]) - max(cell.left, column[0])


def _column_of(cell: PdfCell, columns: Sequence[tuple[float, float]]) -> int:
    return max(range(len(columns)), key=lambda each: _overlap(cell, columns[each]))


def _grid(
    rows: Sequence[PdfRow], columns: Sequence[tuple[float, float]], rules: RuledLines
) -> list[tuple[str, ...]]:
    pitches = [upper.bottom - lower.bottom for upper, lower in itertools.pairwise(rows)]
    line = min(pitches) * WRAPPED if max(pitches) > min(pitches) * WRAPPED else 0.0
    ruled = _ruled(rows, rules)
    found: list[list[str]] = []
    for number, row in enumerate(rows):
        texts = [""] * len(columns)
        for cell in row.cells:
            column = _column_of(cell, columns)
            texts[column] = f"{texts[column]} {cell.text}".strip()
        if row.is_rtl:
            texts.reverse()
        if number and (
            (ruled and not ruled[number - 1] and not all(texts))
            or _continues(texts, found[-1], pitches[number - 1] < line)
        ):
            found[-1] = [f"{upper} {lower}".strip() for upper, lower in zip(found[-1], texts, strict=True)]
        else:
            found.append(texts)
    return [tuple(texts) for texts in found]


def _ruled(rows: Sequence[PdfRow], rules: RuledLines) -> list[bool]:
    """Whether a line lies below each row but the last; empty unless lines part most rows."""
    found = [
        rules.lie_between(
            (upper.top + upper.bottom) / 2, (lower.top + lower.bottom) / 2, upper.left, upper.right
        )
        for upper, lower in itertools.pairwise(rows)
    ]
    return found if sum(found) > max(1, len(found) // 3) else []


def _continues(texts: Sequence[str], above: Sequence[str], is_near: bool) -> bool:
    """Whether a row continues the cells above: it lacks cells, and is near or in mid sentence."""
    filled = [column for column, text in enumerate(texts) if text]
    if len(filled) == len(texts) or not all(above[column] for column in filled):
        return False
    starts_small = all(texts[column][0].islower() or texts[column][0] == "(" for column in filled)
    has_digits = any(char.isdigit() for text in texts for char in text)
    return starts_small or (is_near and not has_digits)


def _is_prose(rows: Sequence[PdfRow], columns: Sequence[tuple[float, float]]) -> bool:
    """Whether columns hold sentences: long lines, or longer ones that were painted column by column."""
    by_column: list[list[PdfCell]] = [[] for _ in columns]
    for row in rows:
        for cell in row.cells:
            by_column[_column_of(cell, columns)].append(cell)
    if len(rows) < 3 or not all(by_column):
        return False
    shortest = min(median(len(cell.text) for cell in cells) for cells in by_column)
    orders = [(min(cell.order for cell in cells), max(cell.order for cell in cells)) for cells in by_column]
    is_ordered = all(left[1] < right[0] for left, right in itertools.pairwise(orders))
    return shortest >= PROSE_CHARS or (is_ordered and shortest >= ORDERED_PROSE_CHARS)


def _by_column(rows: Sequence[PdfRow], columns: Sequence[tuple[float, float]]) -> Iterator[PdfRow]:
    places = reversed(range(len(columns))) if rows[0].is_rtl else range(len(columns))
    for column in places:
        for row in rows:
            cells = [cell for cell in row.cells if _column_of(cell, columns) == column]
            if cells:
                yield _single(PdfRow(cells, row.bottom, row.top, row.is_rtl))
