"""The reader of each format; for the reading process, as readers import large libraries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from worker.displayed.carriers import FLAG, SELECTORS, TAGS, ZERO_WIDTH, carried_texts
from worker.documents import docx, html, markdown, pdf, saved_page, sheets
from worker.documents.cleaning import clean_text
from worker.documents.model import TEXT_FORMATS, Block, DocumentFormat, Note, NoteCode, ParsedDocument
from worker.documents.price_checks import LITTLE_CHARS, LITTLE_OF_FILE_CHARS, checked_notes
from worker.documents.reading import decoded_text
from worker.errors import DocumentRejected

NEVER_SEEN: Final = re.compile(
    f"(?P<flag>{FLAG.pattern})|[{TAGS}]|[{SELECTORS}]{{2,}}|[\u00ad\u180e\u200b\u2060-\u2064\ufeff\u202d\u202e]"
)
"""Joiners and marks of direction are not among them: scripts and emoji need them."""
CODED: Final = re.compile(f"[{ZERO_WIDTH}]")
EXAMPLE_CHARS: Final = 120


def without_invisible(document: ParsedDocument) -> ParsedDocument:
    """The document without such characters; with a note of the texts that they carried."""
    if document.text.isascii():
        return document
    carried = [text for block in document.blocks for text in carried_texts(block.text) if text.strip()]
    blocks = tuple(_seen(document.blocks))
    if not carried:
        return replace(document, blocks=blocks)
    examples = tuple(text[:EXAMPLE_CHARS] for text in carried[:5])
    note = Note(code=NoteCode.HIDDEN, count=len(carried), examples=examples)
    return replace(document, blocks=blocks, notes=(*document.notes, note))


def _seen(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        lines = [_seen_line(line) for line in block.text.split("\n")]
        text = "\n".join(lines)
        named = block.text[: block.head].count("\n")
        if text.strip():
            yield replace(block, text=text, head=sum(len(line) + 1 for line in lines[:named]))


def _seen_line(line: str) -> str:
    if line.isascii():
        return line
    plain = CODED.sub("", line) if carried_texts(line) else line
    return NEVER_SEEN.sub(lambda found: found["flag"] or "", plain)


BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n")


def parse_plain_text(text: str) -> ParsedDocument:
    """Paragraphs with their line breaks; plain text has no title."""
    parts = (part.strip() for part in BLANK_LINE.split(clean_text(text)))
    return ParsedDocument(title="", blocks=tuple(Block(text=part) for part in parts if part))


OF_TEXT: Final[Mapping[DocumentFormat, Callable[[str], ParsedDocument]]] = {
    DocumentFormat.MARKDOWN: markdown.parse_markdown,
    DocumentFormat.HTML: html.parse_html,
    DocumentFormat.TEXT: parse_plain_text,
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
