"""What a reader of a PDF page sees of its letters: those that are drawn, in the direction of most of them."""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

INVISIBLE: Final = 3
"""The way of drawing of letters without ink, such as those that OCR lays over its picture."""
TINY_PT: Final = 1.5
WHITE: Final = 250
"""Least red, green and blue of white letters, of 255."""
ASKEW: Final = 0.2
"""Radians from the next right angle: a watermark."""
QUARTER: Final = math.pi / 2
MOST_BACKGROUNDS: Final = 500


class Glyph(NamedTuple):
    """A character and its box, in points from the page's lower left corner."""

    char: str
    left: float
    right: float
    bottom: float
    top: float

    def turned(self, quarters: int) -> Glyph:
        """The character after so many turns of the page by a right angle, clockwise."""
        left, right, bottom, top = self[1:]
        for _ in range(quarters):
            left, right, bottom, top = bottom, top, -right, -left
        return Glyph(self.char, left, right, bottom, top)


@dataclass(slots=True)
class PageLetters:
    """The characters of a page.

    Attributes:
        glyphs: in the order of painting, as if most of them ran from left to right; None: a line ends.
        quarters: by how many right angles the page was turned for that, clockwise.
        unseen: texts without visible ink.
        aside: texts in another direction, such as watermarks.
    """

    glyphs: list[Glyph | None] = field(default_factory=list)
    quarters: int = 0
    unseen: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)


class _Background(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float

    def holds(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.bottom <= y <= self.top


class _Letter(NamedTuple):
    glyph: Glyph | None
    quarters: int | None
    is_seen: bool


def page_letters(page: pdfium.PdfPage, textpage: Any, characters: Iterable[int]) -> PageLetters:
    """The characters with these numbers of a page, seen and unseen."""
    crop = _Background(*page.get_cropbox())
    backgrounds, has_picture = _backgrounds(page)
    letters = list(_letters(textpage, characters, crop, backgrounds, has_picture=has_picture))
    turns = Counter(
        each.quarters for each in letters if each.glyph and each.is_seen and each.quarters is not None
    )
    most = turns.most_common(1)[0][0] if turns else 0
    found = PageLetters(quarters=most or 0)
    for each in letters:
        if each.glyph is None:
            found.glyphs.append(None)
            for texts in (found.unseen, found.aside):
                texts.extend([""] if texts and texts[-1] else [])
        elif each.is_seen and each.quarters == most:
            found.glyphs.append(each.glyph.turned(found.quarters))
        else:
            texts = found.aside if each.is_seen else found.unseen
            texts[-1:] = [(texts[-1] if texts else "") + each.glyph.char]
    return found


def _letters(
    textpage: Any,
    characters: Iterable[int],
    crop: _Background,
    backgrounds: list[_Background],
    *,
    has_picture: bool,
) -> Iterator[_Letter]:
    box = raw.FS_RECTF()
    is_seen = True
    for index in characters:
        code = raw.FPDFText_GetUnicode(textpage, index)
        if code in (0x0A, 0x0D, 0):
            yield _Letter(None, 0, is_seen=True)
            continue
        if not raw.FPDFText_GetLooseCharBox(textpage, index, box):
            continue
        glyph = Glyph(chr(code), box.left, box.right, box.bottom, box.top)
        angle = raw.FPDFText_GetCharAngle(textpage, index)
        turn = round(angle / QUARTER)
        quarters = -turn % 4 if abs(angle - turn * QUARTER) < ASKEW else None
        if not glyph.char.isspace():  # a space goes with the letter before
            x, y = (box.left + box.right) / 2, (box.bottom + box.top) / 2
            is_large = max(box.top - box.bottom, box.right - box.left) > TINY_PT
            is_on_colour = any(each.holds(x, y) for each in backgrounds)
            is_drawn = has_picture or not _has_no_ink(textpage, index)
            is_coloured = _is_coloured(textpage, index, is_on_colour=is_on_colour)
            is_seen = is_large and is_drawn and is_coloured and crop.holds(x, y)
        yield _Letter(glyph, quarters, is_seen)


def _has_no_ink(textpage: Any, index: int) -> bool:
    drawn = raw.FPDFText_GetTextObject(textpage, index)
    return bool(drawn) and raw.FPDFTextObj_GetTextRenderMode(drawn) == INVISIBLE


def _is_coloured(textpage: Any, index: int, *, is_on_colour: bool) -> bool:
    """Whether a letter has another colour than white, or stands on another colour."""
    red, green, blue, opacity = (ctypes.c_uint() for _ in range(4))
    if not raw.FPDFText_GetFillColor(textpage, index, red, green, blue, opacity):
        return True
    is_white = min(red.value, green.value, blue.value) >= WHITE
    return opacity.value > 0 and (is_on_colour or not is_white)


def _backgrounds(page: pdfium.PdfPage) -> tuple[list[_Background], bool]:
    """The places that are not white under their letters, and whether the page has a picture."""
    found: list[_Background] = []
    has_picture = False
    colour = [ctypes.c_uint() for _ in range(4)]
    kinds = (raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_SHADING)
    for each in page.get_objects(filter=kinds, max_depth=2):
        is_path = each.type == raw.FPDF_PAGEOBJ_PATH
        has_picture = has_picture or each.type == raw.FPDF_PAGEOBJ_IMAGE
        if is_path and not (_is_filled(each) and raw.FPDFPageObj_GetFillColor(each.raw, *colour)):
            continue
        if not is_path or min(part.value for part in colour[:3]) < WHITE:
            found.append(_Background(*each.get_bounds()))
        if len(found) > MOST_BACKGROUNDS:
            break
    return found, has_picture


def _is_filled(path: pdfium.PdfObject) -> bool:
    mode, has_stroke = ctypes.c_int(), ctypes.c_int()
    return bool(raw.FPDFPath_GetDrawMode(path.raw, mode, has_stroke)) and mode.value != raw.FPDF_FILLMODE_NONE
