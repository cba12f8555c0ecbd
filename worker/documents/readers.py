"""The reader of each format, and what every document is checked for: hidden characters, doubtful prices.

For the reading process, as readers import large libraries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from worker.displayed.carriers import FLAG, SELECTORS, TAGS, ZERO_WIDTH, carried_texts
from worker.documents import docx, html, markdown, pdf, saved_page, sheets
from worker.documents.cleaning import clean_text
from worker.documents.model import TEXT_FORMATS, Block, DocumentFormat, Note, NoteCode, ParsedDocument
from worker.documents.reading import decoded_text
from worker.documents.superscripts import CURRENCY
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


LITTLE_CHARS: Final = 20
LITTLE_OF_FILE_CHARS: Final = 60
"""A page or file is expected to say more than a pasted line does."""
SPLIT_PRICE: Final = re.compile(
    rf"{CURRENCY}\s?\d{{1,3}} \d{{2}}(?![\d.,])|(?<![\d.,])\d{{1,3}} \d{{2}} ?[€$£]"
)
TWO_POINTS: Final = re.compile(
    rf"{CURRENCY}\s?\d+[.,]\d{{1,2}}[.,]\d{{1,2}}(?!\d)|(?<![\d.,])\d+[.,]\d{{2}}[.,]\d{{2}} ?[€$£]"
)
NUMBER: Final = re.compile(r"\d[\d.,'’\u00a0\u202f ]*")
DECIMALS: Final = re.compile(r"[.,](?:\d{2}|-|–|—)\s*$")
LEAST_PRICES: Final = 5
FAR: Final = 20
DAMAGED: Final = re.compile(
    r"(?:Ã[\u0080-\u00bf¤¶¼ŸŒœžŽš„–©¨§]|â(?:‚¬|€[\u0080-\u02ff™œ“”¦])|Â[£°§«»€]|\ufffd)\w{0,20}"
)
"""UTF-8 that a program read in the encoding of Windows, and letters that were lost before."""
LEAST_DAMAGED: Final = 2
EXAMPLES: Final = 5


def checked_notes(document: ParsedDocument, *, least_chars: int) -> Iterator[Note]:
    """Notes on the text as a whole, beside those of its reader."""
    count = sum(map(str.isalnum, document.text))
    if count < least_chars:
        yield Note(code=NoteCode.LITTLE_TEXT, count=count, examples=(document.text[:200],))
    damaged = [found[0] for found in DAMAGED.finditer(document.text)]
    if len(damaged) >= LEAST_DAMAGED:
        examples = tuple(dict.fromkeys(damaged))[:EXAMPLES]
        yield Note(code=NoteCode.WRONG_ENCODING, count=len(damaged), examples=examples)
    odd = list(dict.fromkeys(each for block in document.blocks for each in _odd_prices(block)))
    if odd:
        yield Note(code=NoteCode.ODD_PRICES, count=len(odd), examples=tuple(odd[:EXAMPLES]))


def _odd_prices(block: Block) -> Iterator[str]:
    for pattern in (SPLIT_PRICE, TWO_POINTS):
        yield from (found[0] for found in pattern.finditer(block.text))
    if block.is_table:
        rows = [line.split("|") for line in block.text[block.head :].splitlines()]
        for column in range(max(map(len, rows))):
            yield from _odd_in_column([row[column].strip() for row in rows if len(row) > column])


def _odd_in_column(cells: Sequence[str]) -> Iterator[str]:
    """Prices of a column that lack the decimals of the others, or are far from all of them."""
    prices = [cell for cell in cells if re.search(CURRENCY, cell) and NUMBER.search(cell)]
    if len(prices) < LEAST_PRICES:
        return
    digits = [NUMBER.search(cell) for cell in prices]
    numbers = [found[0].strip() for found in digits if found]
    exact = [number for number in numbers if DECIMALS.search(number)]
    if len(exact) >= 0.75 * len(numbers):
        yield from (cell for cell, number in zip(prices, numbers, strict=True) if number not in exact)
    values = [_value(number) for number in numbers]
    middle = median(values)
    yield from (cell for cell, value in zip(prices, values, strict=True) if middle and value > FAR * middle)


def _value(number: str) -> float:
    whole = DECIMALS.sub("", number)
    return float(re.sub(r"\D", "", whole) or 0)
