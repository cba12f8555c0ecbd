"""The reader of each format; for the reading process, as readers import large libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from worker.documents import docx, html, markdown, pdf, plain, saved_page, sheets
from worker.documents.invisible import without_invisible
from worker.documents.model import TEXT_FORMATS, DocumentFormat, ParsedDocument
from worker.documents.price_checks import LITTLE_CHARS, LITTLE_OF_FILE_CHARS, checked_notes
from worker.documents.reading import decoded_text
from worker.errors import DocumentRejected

OF_TEXT: Final[Mapping[DocumentFormat, Callable[[str], ParsedDocument]]] = {
    DocumentFormat.MARKDOWN: markdown.parse_markdown,
    DocumentFormat.HTML: html.parse_html,
    DocumentFormat.TEXT: plain.parse_plain_text,
    DocumentFormat.CSV: sheets.parse_csv,
}
OF_BYTES: Final[Mapping[DocumentFormat, Callable[[bytes], ParsedDocument]]] = {
    DocumentFormat.PDF: pdf.parse_pdf,
    DocumentFormat.DOCX: docx.parse_docx,
    DocumentFormat.XLSX: sheets.parse_xlsx,
    DocumentFormat.MHTML: saved_page.parse_mhtml,
}


def parse_document(data: bytes, kind: DocumentFormat) -> ParsedDocument:
    """A document's title and blocks, with what its owner must know.

    Raises:
        DocumentRejected: the document cannot be decoded or read, or has no text.
    """
    is_text = kind in TEXT_FORMATS
    read = OF_TEXT[kind](decoded_text(data, kind)) if is_text else OF_BYTES[kind](data)
    document = without_invisible(read)
    if not any(map(str.isalnum, document.text)):
        raise DocumentRejected("holds no text")
    is_brief = kind in (DocumentFormat.MARKDOWN, DocumentFormat.TEXT, DocumentFormat.CSV, DocumentFormat.XLSX)
    least_chars = LITTLE_CHARS if is_brief else LITTLE_OF_FILE_CHARS
    return replace(document, notes=(*document.notes, *checked_notes(document, least_chars=least_chars)))
