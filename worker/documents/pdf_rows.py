"""Rows of a PDF page: pieces at one height, from left to right, in cells where gaps part them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from worker.documents.pdf_glyphs import GAP, SPACE, Piece, Rules, is_rtl
from worker.documents.superscripts import raised

RAISED_HEIGHT: Final = 0.8


@dataclass(slots=True)
class Cell:
    """The text between two gaps of a row."""

    text: str
    left: float
    right: float
    order: int


@dataclass(slots=True)
class Row:
    """The cells at one height.

    Attributes:
        is_rtl: True where it reads from right to left; the cells are in reading order.
    """

    cells: list[Cell]
    bottom: float
    top: float
    is_rtl: bool = False

    @property
    def text(self) -> str:
        """Its cells with a space between them."""
        return " ".join(cell.text for cell in self.cells)

    @property
    def height(self) -> float:
        """Of its tallest letters."""
        return self.top - self.bottom

    @property
    def left(self) -> float:
        """Where it begins."""
        return min(cell.left for cell in self.cells)

    @property
    def right(self) -> float:
        """Where it ends."""
        return max(cell.right for cell in self.cells)


def page_rows(pieces: Sequence[Piece], rules: Rules) -> list[Row]:
    """The rows from the top of the page to its bottom."""
    lines: list[list[Piece]] = []
    box = (0.0, 0.0)
    solid = [piece for piece in pieces if piece.text]
    for piece in sorted(solid, key=lambda each: -(each.top + each.bottom)):
        overlap = min(box[1], piece.top) - max(box[0], piece.bottom)
        if lines and overlap >= 0.5 * min(box[1] - box[0], piece.height):
            lines[-1].append(piece)
            if piece.height > box[1] - box[0]:
                box = (piece.bottom, piece.top)
        else:
            lines.append([piece])
            box = (piece.bottom, piece.top)
    return [_row(line, rules) for line in lines]


def _row(line: list[Piece], rules: Rules) -> Row:
    tallest = max(line, key=lambda each: each.height)
    rtl = sum(is_rtl(char) for piece in line for char in piece.text)
    is_from_right = rtl > sum(char.isalpha() and not is_rtl(char) for piece in line for char in piece.text)
    ordered = sorted(line, key=lambda each: -each.right if is_from_right else each.left)
    cells: list[Cell] = []
    last: Piece | None = None
    for index, piece in enumerate(ordered):
        if last is None or _stands_apart(last, piece, rules):
            cells.append(Cell(piece.text, piece.left, piece.right, piece.order))
        else:
            following = ordered[index + 1].text if index + 1 < len(ordered) else ""
            cells[-1] = _with_piece(cells[-1], last, piece, following)
        last = piece
    return Row(cells, tallest.bottom, tallest.top, is_from_right)


def _gap(last: Piece, piece: Piece) -> float:
    return max(piece.left - last.right, last.left - piece.right)


def _stands_apart(last: Piece, piece: Piece, rules: Rules) -> bool:
    gap = _gap(last, piece)
    if last.ends_in_leader or gap > GAP * max(last.height, piece.height):
        return True
    left, right = sorted((min(last.right, piece.right), max(last.left, piece.left)))
    return gap > 1 and rules.part(left, right, (piece.top + piece.bottom) / 2)


def _with_piece(cell: Cell, last: Piece, piece: Piece, following: str) -> Cell:
    """A cell with the next piece: raised, behind a space, or joined."""
    if _is_raised(last, piece):
        text = cell.text + raised(cell.text, piece.text, following)
    else:
        space = " " if _gap(last, piece) > SPACE * max(last.height, piece.height) else ""
        text = cell.text + space + piece.text
    left, right = min(cell.left, piece.left), max(cell.right, piece.right)
    return Cell(text, left, right, min(cell.order, piece.order))


def _is_raised(last: Piece, piece: Piece) -> bool:
    is_small = piece.height < RAISED_HEIGHT * last.height
    return is_small and piece.bottom > last.bottom + 0.15 * last.height and len(piece.text) <= 4
