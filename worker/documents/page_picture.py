"""A page of a PDF as a picture, so that a person can compare it with what was read.

PDFium is C++ that reads untrusted bytes: call this in a separate process, as
``worker.adapters.document_process`` does.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

import pypdfium2 as pdfium

from worker.errors import DocumentRejected

WIDTH: Final = 900
"""Pixels: small print of a page of A4 is readable."""
HEIGHT: Final = 3_000
"""Height of the tallest picture."""
SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
RGB_8_BIT: Final = bytes((8, 2, 0, 0, 0))
NO_FILTER: Final = b"\0"


def page_picture(data: bytes, number: int) -> bytes:
    """A PNG of the page with this number, from 1.

    Raises:
        DocumentRejected: damaged, locked, or without this page.
    """
    try:
        document = pdfium.PdfDocument(data)
        if not 1 <= number <= len(document):
            raise DocumentRejected(f"has no page {number}")
        page = document[number - 1]
        width, height = page.get_size()
        scale = min(WIDTH / width, HEIGHT / height)
        bitmap = page.render(scale=scale, rev_byteorder=True)
    except (pdfium.PdfiumError, ArithmeticError, ValueError) as error:
        raise DocumentRejected(f"has no picture of page {number}: {error}") from error
    return _png(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride)


def _png(pixels: bytes, width: int, height: int, stride: int) -> bytes:
    """Rows of three bytes a pixel as a PNG file."""
    rows = (NO_FILTER + pixels[at : at + 3 * width] for at in range(0, height * stride, stride))
    header = struct.pack(">II", width, height) + RGB_8_BIT
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows), 6)), (b"IEND", b""))
    return SIGNATURE + b"".join(
        struct.pack(">I", len(part)) + name + part + struct.pack(">I", zlib.crc32(name + part))
        for name, part in parts
    )
