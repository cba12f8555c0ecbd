"""Tables of a PDF page that lines part into cells: each text is in the cell within whose lines it stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from worker.documents.pdf_glyphs import Piece, RuledLines, is_rtl
from worker.documents.pdf_rows import page_rows
from worker.documents.pdf_tables import PdfGrid

NEAR_PT: Final = 3.0
MOST_LINES: Final = 800
"""Pages with more lines are drawings; comparing each with each takes their square."""
PROSE_CHARS: Final = 800
"""A cell with more text is a part of the page, in a frame."""
NO_RULES: Final = RuledLines()


@dataclass(frozen=True, slots=True)
class RuledTable:
    """The cells between lines; edges in points, ascending from the lower left corner."""

    columns: tuple[float, ...]
    rows: tuple[float, ...]
    rules: RuledLines

    @property
    def top(self) -> float:
        """The upper edge."""
        return self.rows[-1]

    def place(self, piece: Piece) -> tuple[int, int] | None:
        """PdfRow from the top and column of a text; None when it stands outside."""
        x, y = (piece.left + piece.right) / 2, (piece.bottom + piece.top) / 2
        if not (self.columns[0] < x < self.columns[-1] and self.rows[0] < y < self.rows[-1]):
            return None
        return len(self.rows) - 1 - bisect_right(self.rows, y), bisect_right(self.columns, x) - 1

    def texts(self, pieces: Sequence[Piece]) -> list[tuple[str, ...]]:
        """The rows of the table; a cell over several rows has its text in each of them."""
        heights, width = len(self.rows) - 1, len(self.columns) - 1
        inside: dict[tuple[int, int], list[Piece]] = {}
        for piece in pieces:
            if (place := self.place(piece)) is not None:
                inside.setdefault(self._first(place), []).append(piece)
        texts = {place: _cell_text(found) for place, found in inside.items()}
        from_right = sum(is_rtl(each.text[0]) for each in pieces) > len(pieces) / 2
        found = []
        for row in range(heights):
            cells = [
                texts.get(self._first((row, at)), "") if self._is_first_column(row, at) else ""
                for at in range(width)
            ]
            found.append(tuple(reversed(cells)) if from_right else tuple(cells))
        return [row for row in found if any(row)]

    def _first(self, place: tuple[int, int]) -> tuple[int, int]:
        """The upper left place of the cell that fills a place."""
        row, column = place
        while column and not self._is_first_column(row, column):
            column -= 1
        while row and not self._is_parted(row, column):
            row -= 1
        return row, column

    def _is_first_column(self, row: int, column: int) -> bool:
        """Whether a line stands at the left of a place."""
        at, middle = self.columns[column], (self.rows[-1 - row] + self.rows[-2 - row]) / 2
        return column == 0 or any(
            abs(x - at) < NEAR_PT and low - 1 <= middle <= high + 1 for x, low, high in self.rules.upright
        )

    def _is_parted(self, row: int, column: int) -> bool:
        """Whether a line lies above a place."""
        at, middle = self.rows[-1 - row], (self.columns[column] + self.columns[column + 1]) / 2
        return any(
            abs(y - at) < NEAR_PT and low - 1 <= middle <= high + 1 for low, high, y in self.rules.across
        )


def without_ruled(pieces: Sequence[Piece], rules: RuledLines) -> tuple[list[Piece], list[PdfGrid]]:
    """The pieces outside of tables with lines, and these tables from the top of the page to its bottom."""
    rest, grids = list(pieces), []
    for table in sorted(_ruled_tables(rules), key=lambda each: -each.top):
        inside = [piece for piece in rest if table.place(piece) is not None]
        rows = table.texts(inside)
        if len(inside) > 1 and all(len(cell) <= PROSE_CHARS for row in rows for cell in row):
            grids.append(PdfGrid(rows, table.top))
            rest = [piece for piece in rest if table.place(piece) is None]
    return rest, grids


def _ruled_tables(rules: RuledLines) -> Iterator[RuledTable]:
    """The tables with at least two columns."""
    across = sorted({(round(a), round(b), round(y, 1)) for a, b, y in rules.across})
    upright = sorted({(round(x, 1), round(a), round(b)) for x, a, b in rules.upright})
    if not across or len(upright) < 3 or len(across) + len(upright) > MOST_LINES:
        return
    for lines, columns in _joined(across, upright):
        xs = _edges([x for x, _, _ in columns])
        ys = _edges([y for _, _, y in lines])
        if len(xs) > 2 and len(ys) > 1:
            yield RuledTable(xs, ys, RuledLines(tuple(lines), tuple(columns)))


def _joined(
    across: Sequence[tuple[float, float, float]], upright: Sequence[tuple[float, float, float]]
) -> Iterator[tuple[list[tuple[float, float, float]], list[tuple[float, float, float]]]]:
    """Lines that cross or touch each other, by group."""
    waiting_across, waiting_upright = set(across), set(upright)
    while waiting_upright:
        columns = [waiting_upright.pop()]
        lines: list[tuple[float, float, float]] = []
        new_columns = list(columns)
        while new_columns:
            new_lines = [line for line in waiting_across if any(_touch(line, each) for each in new_columns)]
            waiting_across.difference_update(new_lines)
            lines += new_lines
            new_columns = [each for each in waiting_upright if any(_touch(line, each) for line in new_lines)]
            waiting_upright.difference_update(new_columns)
            columns += new_columns
        yield lines, columns


def _touch(line: tuple[float, float, float], column: tuple[float, float, float]) -> bool:
    left, right, y = line
    x, low, high = column
    return left - NEAR_PT <= x <= right + NEAR_PT and low - NEAR_PT <= y <= high + NEAR_PT


def _edges(values: list[float]) -> tuple[float, ...]:
    """Different places, ascending; those of a double line as one."""
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > NEAR_PT:
            found.append(value)
    return tuple(found)


def _cell_text(pieces: Sequence[Piece]) -> str:
    return " ".join(row.text for row in page_rows(pieces, NO_RULES))
