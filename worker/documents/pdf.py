"""PDF by PDFium: the text of each page, its lines joined to paragraphs.

PDFium is C++ that reads untrusted bytes: call this in a separate process, as
``worker.adapters.document_process`` does.
"""

from __future__ import annotations

import re
from typing import Final

import pypdfium2 as pdfium

from worker.documents.cleaning import CJK_FOLD, clean_text, single_line
from worker.documents.model import Block, ParsedDocument
from worker.errors import DocumentRejected

PAGES: Final = 5000
PASSWORD_ERROR: Final = 4  # FPDF_ERR_PASSWORD in fpdfview.h
HYPHEN: Final = re.compile("(?<=\\w)(?:\x02|\ufffe)\r?\n?")
"""PDFium's character for a hyphen that only the line end caused."""
SENTENCE_END: Final = tuple(".!?:;。！？：；।؟\"”')）】")
SHORT_LINE: Final = 0.75
"""A line that ends a sentence and is shorter than this share of the page's longest line ends a paragraph."""


def parse_pdf(data: bytes) -> ParsedDocument:
    """The text of a PDF.

    Raises:
        DocumentRejected: damaged, locked by a password, too long, or without text.
    """
    try:
        document = pdfium.PdfDocument(data)
        if len(document) > PAGES:
            raise DocumentRejected(f"has {len(document)} pages, the limit is {PAGES}")
        title = single_line(clean_text(document.get_metadata_value("Title") or ""))
        pages = [_page(document, number) for number in range(len(document))]
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == PASSWORD_ERROR:
            raise DocumentRejected("is locked by a password: save a copy without one") from error
        raise DocumentRejected(f"is damaged or no PDF: {error}") from error
    blocks = tuple(Block(text=text) for page in pages for text in page_paragraphs(page))
    if not blocks:
        raise DocumentRejected("holds no text, so it is a scan: run OCR over it first")
    return ParsedDocument(title=title, blocks=blocks)


def page_paragraphs(page: str) -> list[str]:
    """The paragraphs of a page's lines."""
    page = clean_text(HYPHEN.sub("", page))
    rows = [row.strip() for row in page.split("\n")]
    longest = max(map(len, rows), default=0)
    found, current = [], ""
    for row in rows:
        current += f"\n{row}"
        if not row or (len(row) < SHORT_LINE * longest and row.endswith(SENTENCE_END)):
            found.append(single_line(CJK_FOLD.sub("", current)))
            current = ""
    return [text for text in (*found, single_line(current)) if text]


def _page(document: pdfium.PdfDocument, number: int) -> str:
    page = document[number]
    try:
        text: str = page.get_textpage().get_text_range()
    finally:
        page.close()
    return text
