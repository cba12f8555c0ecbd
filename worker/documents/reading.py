"""The format of a document, and its bytes as text."""

from __future__ import annotations

import codecs
import re
from pathlib import PurePath
from typing import Final

from worker.documents.model import DocumentFormat
from worker.errors import DocumentRejected

SUFFIXES: Final = {
    **dict.fromkeys((".md", ".markdown"), DocumentFormat.MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), DocumentFormat.HTML),
    **dict.fromkeys((".txt", ".text"), DocumentFormat.TEXT),
    ".pdf": DocumentFormat.PDF,
    ".docx": DocumentFormat.DOCX,
    **dict.fromkeys((".xlsx", ".xlsm"), DocumentFormat.XLSX),
    **dict.fromkeys((".csv", ".tsv"), DocumentFormat.CSV),
    **dict.fromkeys((".mhtml", ".mht"), DocumentFormat.MHTML),
}
BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
CHARSET: Final = re.compile(rb"charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
LOOKS_HTML: Final = re.compile(
    rb"\s*+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
FIRST_BYTES: Final = (
    (b"%PDF-", DocumentFormat.PDF),
    (b"MIME-Version:", DocumentFormat.MHTML),
    (b"From: <Saved by", DocumentFormat.MHTML),
)
ZIPPED: Final = ((b"word/document.xml", DocumentFormat.DOCX), (b"xl/workbook.xml", DocumentFormat.XLSX))


def document_format(name: str, data: bytes) -> DocumentFormat | None:
    """The format by the name's ending, or without an ending by the first bytes; None if not supported."""
    if suffix := PurePath(name).suffix.lower():
        return SUFFIXES.get(suffix)
    for start, kind in FIRST_BYTES:
        if data.startswith(start):
            return kind
    if data.startswith(b"PK"):
        return next((kind for name, kind in ZIPPED if name in data), None)
    return DocumentFormat.HTML if LOOKS_HTML.match(data[:4096]) else DocumentFormat.MARKDOWN


def decoded_text(data: bytes, kind: DocumentFormat) -> str:
    """Text by its byte order mark, by the charset that HTML declares, or UTF-8; never by a guess.

    Raises:
        DocumentRejected: the bytes are not in that encoding, or the encoding is unknown.
    """
    encoding = next((name for mark, name in BOMS if data.startswith(mark)), "")
    if not encoding and kind is DocumentFormat.HTML and (named := CHARSET.search(data[:2048])):
        encoding = named[1].decode("ascii", "replace")
    encoding = encoding or "utf-8"
    try:
        text = data.decode(encoding)
    except (UnicodeError, LookupError) as error:
        reason = "is not" if isinstance(error, UnicodeError) else "names an unknown encoding:"
        raise DocumentRejected(f"{reason} {encoding}: {_advice(kind)}") from error
    return text.removeprefix("\ufeff")


def _advice(kind: DocumentFormat) -> str:
    if kind is DocumentFormat.CSV:
        return 'save it as "CSV UTF-8", or as .xlsx'
    return "convert it, for example with iconv -f WINDOWS-1252 -t UTF-8"
