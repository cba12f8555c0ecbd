"""Which format a document has, and its bytes as text."""

from __future__ import annotations

import codecs
import re
from pathlib import PurePath
from typing import Final

from worker.documents import html, markdown, plain
from worker.documents.model import Format, Parsed
from worker.errors import DocumentRejected

SUFFIXES: Final = {
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".xhtml": Format.HTML,
    ".txt": Format.TEXT,
    ".text": Format.TEXT,
    ".pdf": Format.PDF,
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
    rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
READERS: Final = {Format.MARKDOWN: markdown.parsed, Format.HTML: html.parsed, Format.TEXT: plain.parsed}


def format_of(name: str, data: bytes) -> Format | None:
    """The format by the name's ending, or by the first bytes without one; None when it is no document."""
    if suffix := PurePath(name).suffix.lower():
        return SUFFIXES.get(suffix)
    if data.startswith(b"%PDF-"):
        return Format.PDF
    return Format.HTML if LOOKS_HTML.match(data[:4096]) else Format.MARKDOWN


def parsed(data: bytes, kind: Format) -> Parsed:
    """A document's title and blocks; PDF goes through ``worker.documents.pdf`` instead.

    Raises:
        DocumentRejected: it cannot be decoded, or holds no text.
    """
    document = READERS[kind](decoded(data, kind))
    if not document.blocks:
        raise DocumentRejected("holds no text")
    return document


def decoded(data: bytes, kind: Format) -> str:
    """Text by its byte order mark, by HTML's own word for it, or UTF-8; never by a guess.

    Raises:
        DocumentRejected: the bytes are not what they should be.
    """
    encoding = next((name for mark, name in BOMS if data.startswith(mark)), "")
    if not encoding and kind is Format.HTML and (named := CHARSET.search(data[:2048])):
        encoding = named[1].decode("ascii", "replace")
    encoding = encoding or "utf-8"
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        reason = "is not" if isinstance(error, UnicodeDecodeError) else "names an unknown encoding:"
        raise DocumentRejected(
            f"{reason} {encoding}: convert it, for example with iconv -f WINDOWS-1252 -t UTF-8"
        ) from error
    return text.removeprefix("\ufeff")
