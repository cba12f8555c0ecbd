"""Rows of a PDF page: pieces at one height, from left to right, in cells where gaps part them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from worker.documents.pdf_glyphs import GAP, SAME_SIZE, SPACE, Piece, RuledLines, is_rtl
from worker.documents.superscripts import lowered, raised

RAISED: Final = 0.12
"""A raised sign stands above the line by more than this share of the letters' height."""


@dataclass(slots=True)
class PdfCell:
    """The text between two gaps of a row."""

    text: str
    left: float
    right: float
    order: int


@dataclass(slots=True)
class PdfRow:
    """The cells at one height.

    Attributes:
        is_rtl: True where it reads from right to left; the cells are in reading order.
    """

    cells: list[PdfCell]
    bottom: float
    top: float
    is_rtl: bool = False

    @property
    def text(self) -> str:
        """The cells of the row with a space between them."""
        return " ".join(cell.text for cell in self.cells)

    @property
    def height(self) -> float:
        """Height of most of the letters."""
        return self.top - self.bottom

    @property
    def left(self) -> float:
        """Where it begins."""
        return min(cell.left for cell in self.cells)

    @property
    def right(self) -> float:
        """Where it ends."""
        return max(cell.right for cell in self.cells)


def page_rows(pieces: Sequence[Piece], rules: RuledLines) -> list[PdfRow]:
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
    rows: list[PdfRow] = []
    for line in lines:
        rows.append(_row(line, rules, rows[-1].text if rows else ""))
    return rows


def _row(line: list[Piece], rules: RuledLines, above: str) -> PdfRow:
    """The cells of a line; the text above may end with the currency of its first number."""
    longest = max(line, key=lambda each: len(each.text))  # signs and other fonts are taller or smaller
    rtl = sum(is_rtl(char) for piece in line for char in piece.text)
    is_from_right = rtl > sum(char.isalpha() and not is_rtl(char) for piece in line for char in piece.text)
    ordered = sorted(line, key=lambda each: -each.right if is_from_right else each.left)
    cells: list[PdfCell] = []
    last: Piece | None = None
    for index, piece in enumerate(ordered):
        if last is None or _stands_apart(last, piece, rules):
            cells.append(PdfCell(piece.text, piece.left, piece.right, piece.order))
        else:
            following = ordered[index + 1].text if index + 1 < len(ordered) else ""
            cells[-1] = _with_piece(cells[-1], last, piece, (above if len(cells) == 1 else "", following))
        last = piece if last is None or piece.height >= SAME_SIZE * last.height else _moved(last, piece)
    return PdfRow(cells, longest.bottom, longest.top, is_from_right)


def _moved(last: Piece, sign: Piece) -> Piece:
    """The piece before a smaller one, ending where that ends: the next piece is compared with its size."""
    return replace(
        last,
        left=min(last.left, sign.left),
        right=max(last.right, sign.right),
        ends_in_leader=sign.ends_in_leader,
    )


def _gap(last: Piece, piece: Piece) -> float:
    return max(piece.left - last.right, last.left - piece.right)


def _stands_apart(last: Piece, piece: Piece, rules: RuledLines) -> bool:
    gap = _gap(last, piece)
    if last.ends_in_leader or gap > GAP * max(last.height, piece.height):
        return True
    left, right = sorted((min(last.right, piece.right), max(last.left, piece.left)))
    return gap > 1 and rules.part(left, right, (piece.top + piece.bottom) / 2)


def _with_piece(cell: PdfCell, last: Piece, piece: Piece, around: tuple[str, str]) -> PdfCell:
    """A cell with the next piece: raised, lowered, behind a space, or joined."""
    before, following = f"{around[0]} {cell.text}", around[1]
    is_sign = piece.height < SAME_SIZE * last.height and len(piece.text) <= 4 and not piece.text.isalpha()
    if is_sign and piece.bottom > last.bottom + RAISED * last.height:
        text = cell.text + raised(before, piece.text, following)
    elif is_sign and piece.top < last.top - RAISED * last.height:
        text = cell.text + lowered(before, piece.text, following)
    else:
        space = " " if _gap(last, piece) > SPACE * max(last.height, piece.height) else ""
        text = cell.text + space + piece.text
    left, right = min(cell.left, piece.left), max(cell.right, piece.right)
    return PdfCell(text, left, right, min(cell.order, piece.order))
