"""The format of a document, and its bytes as text."""

from __future__ import annotations

import codecs
import re
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
WEB_LABELS: Final = {
    label: encoding
    for encoding, labels in {
        "cp1252": "latin1 latin_1 l1 iso8859_1 iso_8859_1 iso88591 x_cp1252 windows_1252",
        "cp1254": "iso_8859_9 iso8859_9 latin5 l5 windows_1254",
        "cp874": "iso_8859_11 iso8859_11 tis_620 windows_874 dos_874",
        "iso8859_8": "iso_8859_8_i iso_8859_8_e logical",
        "gb18030": "gb2312 gb_2312 gb_2312_80 gbk x_gbk chinese cp936",
        "cp932": "shift_jis sjis x_sjis ms_kanji windows_31j",
        "cp949": "euc_kr ks_c_5601_1987 ks_c_5601_1989 ksc5601 korean windows_949",
        "big5hkscs": "big5 big5_hkscs x_x_big5 cn_big5",
        "utf-8": "utf_16 utf_16le utf_16be unicode unicode_1_1_utf_8 x_unicode20utf8",
        "mac_cyrillic": "x_mac_cyrillic",
        "mac_roman": "x_mac_roman",
    }.items()
    for label in labels.split()
}
"""Labels of encodings that mean another one on the web (encoding.spec.whatwg.org)."""
UNDEFINED: Final = re.compile("[\x81\x8d\x8f\x90\x9d]")
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
    from pathlib import PurePath  # noqa: PLC0415  # the process that shows a document starts without it

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
        text = data.decode(encoding) if kind is not DocumentFormat.HTML else decoded_as_web(data, encoding)
    except (UnicodeError, LookupError) as error:
        reason = "is not" if isinstance(error, UnicodeError) else "names an unknown encoding:"
        raise DocumentRejected(f"{reason} {encoding}: {_advice(kind)}") from error
    return text.removeprefix("\ufeff")


def decoded_as_web(data: bytes, label: str) -> str:
    """Text by the encoding that browsers use for a label, such as Windows-1252 for ISO-8859-1.

    Raises:
        UnicodeError, LookupError: the bytes are not in that encoding, or the label is unknown.
    """
    encoding = WEB_LABELS.get(re.sub(r"[-: ]", "_", label.lower()), label)
    if encoding != "cp1252":
        return data.decode(encoding)
    return "".join(  # five bytes of it are control characters, as in browsers
        part if UNDEFINED.match(part) else part.encode("latin-1").decode("cp1252")
        for part in re.split(f"({UNDEFINED.pattern})", data.decode("latin-1"))
    )


def _advice(kind: DocumentFormat) -> str:
    if kind is DocumentFormat.CSV:
        return 'save it as "CSV UTF-8", or as .xlsx'
    return "convert it, for example with iconv -f WINDOWS-1252 -t UTF-8"
