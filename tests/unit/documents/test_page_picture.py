"""A page of a PDF as a picture, made in the reading process."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from tests.support.pdf_files import Line, Text, pdf
from worker.adapters import document_process
from worker.errors import DocumentRejected

FILES = Path(__file__).parents[2] / "fixtures" / "documents"
TWO_PAGES = pdf([Line(100, 742, 500, 742)], [Text(100, 100, "Page two")])


def pixels(png: bytes) -> tuple[int, int, bytes]:
    """Width, height and the rows of a picture, each without its filter byte."""
    width, height = struct.unpack(">II", png[16:24])
    at, packed = 8, b""
    while at < len(png):
        size = int.from_bytes(png[at : at + 4])
        kind, part = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert int.from_bytes(png[at + 8 + size : at + 12 + size]) == zlib.crc32(kind + part)
        packed += part if kind == b"IDAT" else b""
        at += 12 + size
    rows = zlib.decompress(packed)
    step = 1 + 3 * width
    return width, height, b"".join(rows[start + 1 : start + step] for start in range(0, len(rows), step))


async def test_a_page_is_drawn_as_it_looks() -> None:
    """The line of the first page is dark where it stands, and all else is white."""
    width, height, shown = pixels(await document_process.picture(TWO_PAGES, 1))
    dark = {at // 3 // width / height for at in range(0, len(shown), 3) if shown[at] < 200}

    assert (width, len(shown)) == (900, 3 * width * height)
    assert dark
    assert min(dark) > (842 - 745) / 842 > 0.1
    assert max(dark) < (842 - 739) / 842


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        (TWO_PAGES, 3, "has no page 3"),
        (TWO_PAGES, 0, "has no page 0"),
        (b"", 1, "has no picture of page 1"),
        ((FILES / "locked.pdf").read_bytes(), 1, "has no picture of page 1"),
    ],
)
async def test_a_page_that_cannot_be_drawn_is_refused(data: bytes, number: int, reason: str) -> None:
    """With the reason."""
    with pytest.raises(DocumentRejected, match=reason):
        await document_process.picture(data, number)


async def test_a_huge_page_is_a_small_picture() -> None:
    """The size of a page is untrusted: 200 by 0.1 inches, and 200 by 200."""
    for size in (b"[0 0 14400 7]", b"[0 0 14400 14400]", b"[0 0 7 14400]"):
        data = TWO_PAGES.replace(b"[0 0 595 842]", size)
        width, height, _ = pixels(await document_process.picture(data, 1))

        assert 1 <= width <= 901
        assert 1 <= height <= 3_001
