"""The characters of a PDF page with their places, joined to pieces of one line each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pypdfium2 as pdfium
from pypdfium2 import raw

from worker.documents.pdf_ink import Glyph, page_letters

LINE_HYPHENS: Final = ("\x02", "\ufffe")
"""PDFium's characters for a hyphen at the end of a line."""
HYPHEN: Final = "\u2010"
"""Our character for it, until the line below is joined."""
GAP: Final = 0.9
"""A gap of this share of the letters' height parts two cells; spaces of justified text are smaller."""
SPACE: Final = 0.12
SAME_SIZE: Final = 0.92
"""Raised digits have 0.83 of the size of others in browsers, and less elsewhere."""
RTL_SPACE: Final = 0.21
RTL_WORD: Final = 8.0
"""A word's last letter may come first: letters of one line are within this many heights."""
LEADERS: Final = frozenset(".·…_")
LINE_PT: Final = 2.5
"""Greatest thickness of a line."""
MOST_RULES: Final = 4_000
"""Further lines of a page are a drawing."""
LAST_LTR: Final = "\u058f"
RTL: Final = (("\u0590", "\u08ff"), ("\ufb1d", "\ufdff"), ("\ufe70", "\ufefc"))


@dataclass(slots=True)
class Piece:
    """Characters beside each other in one size; coordinates in points from the page's lower left corner."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    order: int
    ends_in_leader: bool = False

    @property
    def height(self) -> float:
        """Height of the letters, with what they may reach below and above."""
        return self.top - self.bottom


@dataclass(frozen=True, slots=True)
class RuledLines:
    """The thin lines and the edges of boxes that a page draws, in points.

    Attributes:
        across: left, right and height of horizontal ones.
        upright: place, bottom and top of vertical ones.
    """

    across: tuple[tuple[float, float, float], ...] = ()
    upright: tuple[tuple[float, float, float], ...] = ()

    def turned(self, quarters: int) -> RuledLines:
        """The lines after so many turns of the page by a right angle, clockwise."""
        across, upright = self.across, self.upright
        for _ in range(quarters):
            across, upright = (
                tuple((low, high, -at) for at, low, high in upright),
                tuple((at, -right, -left) for left, right, at in across),
            )
        return RuledLines(across, upright)

    def part(self, left: float, right: float, middle: float) -> bool:
        """Whether a vertical line stands between two places at a height."""
        return any(left - 1 <= at <= right + 1 and low <= middle <= high for at, low, high in self.upright)

    def lie_between(self, upper: float, lower: float, left: float, right: float) -> bool:
        """Whether a horizontal line lies between two heights, over some of a stretch."""
        return any(lower <= at <= upper and low < right and left < high for low, high, at in self.across)


def page_rules(page: pdfium.PdfPage) -> RuledLines:
    """The lines of a page."""
    across, upright = [], []
    for each in page.get_objects(filter=(raw.FPDF_PAGEOBJ_PATH,), max_depth=2):
        left, bottom, right, top = each.get_bounds()
        if top - bottom <= LINE_PT:
            across.append((left, right, (bottom + top) / 2))
        elif right - left <= LINE_PT:
            upright.append(((left + right) / 2, bottom, top))
        else:
            across += [(left, right, bottom), (left, right, top)]
            upright += [(left, bottom, top), (right, bottom, top)]
        if len(across) > MOST_RULES:
            break
    return RuledLines(tuple(across), tuple(upright))


@dataclass(frozen=True, slots=True)
class PagePieces:
    """What is read of a page, as if most of its letters ran from left to right.

    Attributes:
        pieces: in the order of painting.
        rules: the lines of the page.
        unseen: texts without visible ink.
        aside: texts in another direction, such as watermarks.
    """

    pieces: list[Piece]
    rules: RuledLines
    unseen: list[str]
    aside: list[str]


def page_pieces(page: pdfium.PdfPage) -> PagePieces:
    """The pieces of a page; struck-through and unseen letters are left out."""
    textpage = page.get_textpage()
    try:
        count = raw.FPDFText_CountChars(textpage.raw)
        letters = page_letters(page, textpage.raw, range(count))
        rules = page_rules(page).turned(letters.quarters)
        glyphs = (
            each._replace(char=HYPHEN) if each is not None and each.char in LINE_HYPHENS else each
            for each in letters.glyphs
        )
        if rules.across:
            glyphs = (each for each in glyphs if each is None or not _is_struck(each, rules))
        return PagePieces(list(_joined(glyphs, rules)), rules, letters.unseen, letters.aside)
    finally:
        textpage.close()


def is_rtl(char: str) -> bool:
    """Whether a letter is of a script written from right to left."""
    return any(first <= char <= last for first, last in RTL)


def _logical(glyphs: list[Glyph], height: float) -> str:
    """Characters of a line that runs from right to left, in reading order: numbers and names keep theirs.

    The spaces are those between the letters: the places of the spaces themselves are often wrong.
    """
    found: list[str] = []
    other: list[str] = []
    left = float("-inf")
    for glyph in sorted(glyphs, key=lambda each: -(each.left + each.right)):
        space = " " if left - glyph.right > RTL_SPACE * height else ""
        if is_rtl(glyph.char) or (not other and not glyph.char.isalnum()):
            found += [*_settled(other), space, glyph.char]
            other = []
        else:
            other += [space, glyph.char] if space else [glyph.char]
        left = glyph.left
    return "".join([*found, *_settled(other)])


def _settled(other: list[str]) -> list[str]:
    """Characters from right to left as they are read; signs at the ends keep their places."""
    start = 0
    while start < len(other) and not other[start][0].isalnum():
        start += 1
    end = len(other)
    while end > start and not other[end - 1][0].isalnum():
        end -= 1
    return other[:start] + other[start:end][::-1] + other[end:]


def _joined(glyphs: Iterator[Glyph | None], rules: RuledLines) -> Iterator[Piece]:
    current: list[Glyph] = []
    last: Glyph | None = None
    order, is_from_right = 0, False
    for glyph in glyphs:
        is_space = glyph is not None and glyph.char.isspace()
        if glyph is not None and not is_space and glyph.char > LAST_LTR and is_rtl(glyph.char):
            is_from_right = True
        if last is not None and (
            glyph is None or (not is_space and _parts(current, last, glyph, rules, is_from_right))
        ):
            yield from _pieces(current, order, rules)
            order, current, last = order + 1, [], None
        if last is None:
            is_from_right = glyph is not None and glyph.char > LAST_LTR and is_rtl(glyph.char)
        if glyph is not None and (not is_space or last is not None):
            current.append(glyph)
            last = last if is_space else glyph
    if last is not None:
        yield from _pieces(current, order, rules)


def _parts(current: list[Glyph], last: Glyph, glyph: Glyph, rules: RuledLines, is_from_right: bool) -> bool:
    """Whether a glyph begins another piece: it stands apart, on another line or in another size."""
    height = max(last.top - last.bottom, 0.1)
    own = glyph.top - glyph.bottom
    overlap = min(last.top, glyph.top) - max(last.bottom, glyph.bottom)
    gap = glyph.left - last.right
    if is_from_right:
        return overlap < 0.2 * min(height, own) or _is_far(current, glyph)
    if overlap < 0.5 * min(height, own) or not SAME_SIZE * height < own < height / SAME_SIZE:
        return True
    if not -0.5 * height < gap < GAP * height:
        return not 0 <= glyph.left - last.left < height  # a ligature's letters have one place
    if last.char in LEADERS and glyph.char not in LEADERS and _leader_length(current) > 3:
        return True
    return (
        gap > 1 and bool(rules.upright) and rules.part(last.right, glyph.left, (last.top + last.bottom) / 2)
    )


def _is_far(current: list[Glyph], glyph: Glyph) -> bool:
    """Whether a glyph of a line from right to left is far from all before: words come in no one order."""
    solid = [each for each in current if not each.char.isspace()]
    far = RTL_WORD * max(each.top - each.bottom for each in solid)
    return (
        glyph.left > max(each.right for each in solid) + far
        or glyph.right < min(each.left for each in solid) - far
    )


def _cells_from_right(glyphs: list[Glyph], rules: RuledLines) -> Iterator[list[Glyph]]:
    """The glyphs of a line from right to left, parted at gaps and vertical lines."""
    height = max(each.top - each.bottom for each in glyphs)
    cell: list[Glyph] = []
    left = float("inf")
    for glyph in sorted(glyphs, key=lambda each: -(each.left + each.right)):
        if glyph.char.isspace():
            continue
        gap = left - glyph.right
        is_ruled = bool(rules.upright) and rules.part(glyph.right, left, (glyph.top + glyph.bottom) / 2)
        if cell and (gap > GAP * height or (gap > 1 and is_ruled)):
            yield cell
            cell = []
        cell.append(glyph)
        left = min(left, glyph.left)
    yield cell


def _leader_length(glyphs: list[Glyph]) -> int:
    count = 0
    for glyph in reversed(glyphs):
        if glyph.char in LEADERS:
            count += 1
        elif not glyph.char.isspace():
            break
    return count


def _pieces(glyphs: list[Glyph], order: int, rules: RuledLines) -> Iterator[Piece]:
    """The glyphs as a piece; those of a line from right to left as one for each cell."""
    solid = [each for each in glyphs if not each.char.isspace()]
    if any(each.char > LAST_LTR and is_rtl(each.char) for each in solid):
        height = max(each.top - each.bottom for each in glyphs)
        for cell in _cells_from_right(glyphs, rules):
            yield _piece(_logical(cell, height), cell, order)
        return
    text = "".join(_spaced(glyphs))
    is_leader = text.rstrip()[-1:] in LEADERS and _leader_length(glyphs) > 3
    if is_leader:
        text = text.rstrip("".join(LEADERS) + " ")
    yield _piece(text, solid, order, is_leader=is_leader)


def _piece(text: str, glyphs: list[Glyph], order: int, *, is_leader: bool = False) -> Piece:
    return Piece(
        text=text.strip(),
        left=min(each.left for each in glyphs),
        right=max(each.right for each in glyphs),
        bottom=min(each.bottom for each in glyphs),
        top=max(each.top for each in glyphs),
        order=order,
        ends_in_leader=is_leader,
    )


def _spaced(glyphs: list[Glyph]) -> Iterator[str]:
    """The characters, with a space where there is a gap without one."""
    right = float("inf")
    for glyph in glyphs:
        if glyph.char.isspace():
            right = float("inf")
        elif glyph.left - right > 2 * SPACE * (glyph.top - glyph.bottom):
            yield " "
        yield glyph.char
        if not glyph.char.isspace():
            right = glyph.right if right == float("inf") else max(right, glyph.right)


def _is_struck(glyph: Glyph, rules: RuledLines) -> bool:
    """Whether a line goes through the middle of a letter."""
    height = glyph.top - glyph.bottom
    low, high = glyph.bottom + 0.32 * height, glyph.bottom + 0.62 * height
    middle = (glyph.left + glyph.right) / 2
    return any(low < at < high and left <= middle <= right for left, right, at in rules.across)
