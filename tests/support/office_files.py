"""Small DOCX and XLSX files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

from openpyxl import Workbook

WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def docx(body: str, *, title: str = "", styles: str = "") -> bytes:
    """A DOCX file with this XML as its body, and as its styles."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml"'
        ' ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1"'
        f' Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{WORDS}"><w:body>{body}</w:body></w:document>',
        "docProps/core.xml": '<c xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></c>",
        "word/styles.xml": f'<w:styles xmlns:w="{WORDS}">{styles}</w:styles>',
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for name, content in parts.items():
            target.writestr(name, content)
    return made.getvalue()


def paragraph(*runs: str, style: str = "") -> str:
    """A paragraph of runs."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}{''.join(runs)}</w:p>"


def run(text: str, properties: str = "") -> str:
    """A run; ``properties`` such as ``<w:strike/>``."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def cell(text: str, properties: str = "") -> str:
    """A cell of a table; ``properties`` such as ``<w:vMerge/>``."""
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(run(text))}</w:tc>"


def table(*rows: str) -> str:
    """A table of rows, each the XML of its cells."""
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def xlsx(fill: Callable[[Workbook, Any], None]) -> bytes:
    """A workbook whose first sheet ``fill`` has written."""
    book = Workbook()
    fill(book, book.active)
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()
