"""Small PDF files: texts at places, lines and pictures, written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """A text whose baseline begins at a place, in points from the lower left corner."""

    x: float
    y: float
    text: str
    size: float = 11.0


@dataclass(frozen=True, slots=True)
class Line:
    """A thin line from one place to another."""

    x: float
    y: float
    to_x: float
    to_y: float


@dataclass(frozen=True, slots=True)
class Picture:
    """A grey picture of the whole page, as a scanner makes it."""


Item = Text | Line | Picture | str
"""A string is operators of PDF."""
WIDTH, HEIGHT = 595, 842


def pdf(*pages: Sequence[Item], title: str = "") -> bytes:
    """A PDF file with these pages; texts in Helvetica, in the encoding of Windows."""
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8"
        " /Length 1 >>\nstream\n\x80\nendstream",
    ]
    for number, items in enumerate(pages):
        content = "\n".join(map(_operators, items))
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {6 + 2 * number} 0 R"
            " /Resources << /Font << /F 3 0 R >> /XObject << /I 4 0 R >> >> >>",
            f"<< /Length {len(content.encode('cp1252', 'replace'))} >>\nstream\n{content}\nendstream",
        ]
    objects.append(f"<< /Title ({_escaped(title)}) >>")
    return _file(objects)


def lines(*texts: str, x: float = 72, y: float = 740, size: float = 11.0, pitch: float = 15.0) -> list[Item]:
    """Texts below each other."""
    return [Text(x, y - pitch * number, text, size) for number, text in enumerate(texts)]


def table(*rows: Sequence[str], columns: Sequence[float] = (72, 250, 360), y: float = 700) -> list[Item]:
    """Rows of cells at the places of their columns; an empty cell is not painted."""
    return [
        Text(columns[at], y - 20 * number, cell)
        for number, row in enumerate(rows)
        for at, cell in enumerate(row)
        if cell
    ]


def _operators(item: Item) -> str:
    match item:
        case str():
            return item
        case Text(x, y, text, size):
            return f"BT /F {size} Tf {x} {y} Td ({_escaped(text)}) Tj ET"
        case Line(x, y, to_x, to_y):
            return f"0.5 w {x} {y} m {to_x} {to_y} l S"
        case Picture():
            return f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm /I Do Q"


def turned(matrix: str, items: Sequence[Item]) -> str:
    """Items behind a matrix, such as ``0 1 -1 0 842 0`` for a page that lies on its side."""
    return f"q {matrix} cm {' '.join(map(_operators, items))} Q"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _file(objects: Sequence[str]) -> bytes:
    made = bytearray(b"%PDF-1.4\n")
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n".encode() + each.encode("cp1252", "replace") + b"\nendobj\n"
    start = len(made)
    made += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    made += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    last = len(objects)
    made += (
        f"trailer << /Size {last + 1} /Root 1 0 R /Info {last} 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    )
    return bytes(made)
