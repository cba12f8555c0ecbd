"""PDF by PDFium: the text of each page by the places of its letters, as paragraphs and tables.

PDFium is C++ that reads untrusted bytes: call this in a separate process, as
``worker.adapters.document_process`` does.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pypdfium2 as pdfium
from pypdfium2 import raw

from worker.documents.cleaning import clean_text, single_line
from worker.documents.model import Block, Note, NoteCode, ParsedDocument
from worker.documents.pdf_glyphs import RuledLines, page_pieces
from worker.documents.pdf_heads import without_heads
from worker.documents.pdf_paragraphs import document_blocks
from worker.documents.pdf_rows import PdfRow, page_rows
from worker.documents.pdf_ruled import without_ruled
from worker.documents.pdf_tables import PdfGrid, page_parts
from worker.documents.titles import own_title
from worker.errors import DocumentRejected

PAGES: Final = 5000
PASSWORD_ERROR: Final = 4  # FPDF_ERR_PASSWORD in fpdfview.h
FEW_CHARS: Final = 20
"""A page with a picture and fewer letters and digits is a scan: what is left is a stamp or a page number."""
NOTE_PAGES: Final = 200
EXAMPLE_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class _Page:
    rows: list[PdfRow]
    grids: list[PdfGrid]
    rules: RuledLines
    has_objects: bool
    has_picture: bool
    unseen: list[str]
    aside: list[str]


def parse_pdf(data: bytes) -> ParsedDocument:
    """The text of a PDF, without running heads; pages that cannot be read are named.

    Raises:
        DocumentRejected: damaged, locked by a password, too long, or no page can be read.
    """
    try:
        document = pdfium.PdfDocument(data)
        if len(document) > PAGES:
            raise DocumentRejected(f"has {len(document)} pages, the limit is {PAGES}")
        title = own_title(clean_text(document.get_metadata_value("Title") or ""))
        pages = [_page(document, number) for number in range(len(document))]
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == PASSWORD_ERROR:
            raise DocumentRejected("is locked by a password: save a copy without one") from error
        raise DocumentRejected(f"is damaged or no PDF: {error}") from error
    kept, heads = without_heads([page.rows for page in pages])
    texts = [_text(page, rows) for page, rows in zip(pages, kept, strict=True)]
    empty = [number for number, page in enumerate(pages) if _is_scan(page, texts[number])]
    unreadable = [number for number, text in enumerate(texts) if not is_legible(text)]
    missing = {*empty, *unreadable}
    parts = [
        [] if number in missing else list(page_parts(kept[number], page.grids, page.rules))
        for number, page in enumerate(pages)
    ]
    blocks = tuple(document_blocks(parts))
    _require_text(blocks, is_garbled=bool(unreadable))
    left_out = {
        NoteCode.RUNNING_HEADS: heads,
        NoteCode.HIDDEN: _worded(text for page in pages for text in page.unseen),
        NoteCode.PAGE_PARTS: _worded(text for page in pages for text in page.aside),
    }
    notes = tuple(_notes(len(pages), empty, unreadable, left_out))
    return ParsedDocument(title=title, blocks=blocks, notes=notes, pages=len(pages))


def _require_text(blocks: tuple[Block, ...], *, is_garbled: bool) -> None:
    if blocks:
        return
    if is_garbled:
        raise DocumentRejected("has letters that cannot be read: print it to PDF again, or run OCR over it")
    raise DocumentRejected("holds no text, so it is a scan: run OCR over it first")


def _page(document: pdfium.PdfDocument, number: int) -> _Page:
    page = document[number]
    try:
        has_objects = has_picture = False
        for each in page.get_objects(max_depth=2):
            has_objects = True
            if each.type == raw.FPDF_PAGEOBJ_IMAGE:
                has_picture = True
                break
        found = page_pieces(page)
        pieces, grids = without_ruled(found.pieces, found.rules)
        rows = page_rows(pieces, found.rules)
        return _Page(rows, grids, found.rules, has_objects, has_picture, found.unseen, found.aside)
    finally:
        page.close()


def _text(page: _Page, rows: list[PdfRow]) -> str:
    cells = (cell for grid in page.grids for row in grid.rows for cell in row)
    return "\n".join([*(row.text for row in rows), *cells])


def _is_scan(page: _Page, text: str) -> bool:
    """Whether a page shows something and holds no text of it; an empty page is none."""
    count = sum(map(str.isalnum, text))
    return page.has_objects and (count == 0 or (page.has_picture and count < FEW_CHARS))


def _worded(texts: Iterable[str]) -> list[str]:
    return [words for text in texts if any(map(str.isalnum, words := single_line(clean_text(text))))]


def _notes(
    pages: int, empty: list[int], unreadable: list[int], left_out: Mapping[NoteCode, list[str]]
) -> Iterator[Note]:
    for code, found in ((NoteCode.NO_TEXT, empty), (NoteCode.UNREADABLE, unreadable)):
        if found:
            numbers = tuple(number + 1 for number in found[:NOTE_PAGES])
            yield Note(code=code, count=len(found), of=pages, pages=numbers)
    for code, texts in left_out.items():
        if texts:
            examples = tuple(text[:EXAMPLE_CHARS] for text in texts[:5])
            yield Note(code=code, count=len(texts), examples=examples)


LATIN_WORD: Final = re.compile(r"[^\W\d_]{4,}")
ANY_WORD: Final = re.compile(r"[^\W_]+")
VOWELS: Final = frozenset("aeiouyäöüåæøœéèêëáàâãíìîïóòôõúùûýąęěůőűıăāēīōū")
LETTERS: Final = 60
FEW_VOWELS: Final = 0.22
"""No language in Latin script is below 0.3 in running text; letters shifted by a font are at 0.1 to 0.2."""
LONG_WORD: Final = 24
STRANGE: Final = 0.1


def is_legible(text: str) -> bool:
    """Whether a page's text can be read; short texts are given the benefit of the doubt."""
    solid = [char for char in text if not char.isspace()]
    if not solid:
        return True
    strange = sum(
        unicodedata.category(char) in ("Co", "Cn", "Cc", "Cs") or char == "\ufffd" for char in solid
    )
    if strange > STRANGE * len(solid):
        return False
    return _has_vowels(text) and _has_words(text) and not _is_mixed(text)


def _has_vowels(text: str) -> bool:
    words = [word for word in LATIN_WORD.findall(text) if word[0] < "\u0250"]
    letters = "".join(words).lower()
    if len(letters) < LETTERS:
        return True
    plain = unicodedata.normalize("NFD", letters)
    return sum(char in VOWELS for char in plain) >= FEW_VOWELS * len(letters)


def _has_words(text: str) -> bool:
    """Whether Latin text has spaces between its words."""
    words = [word for word in ANY_WORD.findall(text) if word[0] < "\u0250"]
    letters = sum(map(len, words))
    return letters < 2 * LETTERS or letters / len(words) < LONG_WORD


def _is_mixed(text: str) -> bool:
    """Whether many words mix scripts, or capitals and digits in their middle."""
    words = [word for word in ANY_WORD.findall(text) if len(word) > 3]
    if len(words) < 10:
        return False
    return sum(_is_odd(word) for word in words) > 0.4 * len(words)


def _is_odd(word: str) -> bool:
    scripts = {unicodedata.name(char, "?").split(" ")[0] for char in word if char.isalpha()}
    if len(scripts & {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "ARMENIAN"}) > 1:
        return True
    inner = word[1:]
    return any(map(str.islower, inner)) and sum(map(str.isupper, inner)) > 1 and not word.isupper()
