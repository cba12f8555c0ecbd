"""The plain text of a document's source beside its passages, with what no passage holds marked.

It shows what is in the file and judges nothing: hidden, struck and repeated texts are in it.
"""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final
from xml.etree import ElementTree as ET

from selectolax.lexbor import LexborHTMLParser, LexborNode

from worker.documents import docx, html, markup_limits, saved_page
from worker.documents.cleaning import BLANKS, clean_text, single_line
from worker.documents.model import DocumentFormat, SourceText
from worker.documents.number_formats import shown_value
from worker.documents.reading import decoded_text
from worker.documents.sentences import sentence_spans
from worker.documents.zipped import DAMAGED, check_unpacked_size
from worker.errors import DocumentRejected

LINE_CHARS: Final = 20_000
"""Longer lines of a source are cut; each sentence of the others is compared with the passages."""
TELLING: Final = 12
"""Letters and digits of a text that cannot stand in the next passage by chance."""
AHEAD: Final = 3
EDGE: Final = 60
UNSEEN: Final = frozenset(["script", "style", "template", "noscript", "head"])
CELLS: Final = frozenset(["td", "th"])
MARKUP: Final = re.compile(r"\]\([^)\s]*\)|<[^<>]{1,500}>")
STRUCK: Final = re.compile(r"(~~[^~]+~~)")
PARTS: Final = re.compile(r"word/(?:header|document|footnotes|endnotes|footer)\d*\.xml")


@dataclass(frozen=True, slots=True)
class _Raw:
    """A text of the source, and its form in the passage where that differs, such as a number's form."""

    text: str
    shown: str = ""


def source_beside(data: bytes, kind: DocumentFormat, passages: Sequence[str]) -> list[list[SourceText]]:
    """The source's texts beside each of all its passages, in order.

    A text that no passage holds stands with the passage before it.

    Raises:
        DocumentRejected: the document cannot be decoded or read, or has no plain text.
    """
    keys = [_key(passage) for passage in passages]
    found: list[list[SourceText]] = [[] for _ in passages]
    at = 0
    for line in _lines(data, kind):
        parts = _solid(line)
        for number, part in enumerate(parts, 1):
            key = _key(part.shown or part.text)
            place = at if not key or at >= len(keys) or _holds(keys[at], key) else _ahead(keys, at, key)
            at = at if place is None else place
            if at < len(found):
                left_out = place is None
                text = SourceText(text=part.text, is_left_out=left_out, ends_line=number == len(parts))
                found[at].append(text)
    return found


def _solid(line: Sequence[_Raw]) -> list[_Raw]:
    """A line's texts; white space belongs to the text before it."""
    found: list[_Raw] = []
    for part in line:
        if part.text.strip():
            found.append(part)
        elif found and part.text:
            found[-1] = replace(found[-1], text=found[-1].text.rstrip() + " ")
    return found


def _ahead(keys: Sequence[str], at: int, key: str) -> int | None:
    """Number of the next passage that holds a text; None without such a passage."""
    for place in range(at + 1, min(at + 1 + AHEAD, len(keys))):
        if _holds(keys[place], key):
            return place if len(key) >= TELLING or keys[place].startswith(key) else at
    return None


def _holds(passage: str, key: str) -> bool:
    """Whether a passage holds a text, or, as it was cut, its beginning or end."""
    return key in passage or (len(key) > 2 * EDGE and (key[:EDGE] in passage or key[-EDGE:] in passage))


def _key(text: str) -> str:
    """Letters and digits only, without differences of form."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _lines(data: bytes, kind: DocumentFormat) -> Iterator[list[_Raw]]:
    try:
        match kind:
            case DocumentFormat.HTML:
                yield from _html_lines(decoded_text(data, kind))
            case DocumentFormat.MHTML:
                yield from _html_lines(saved_page.page_of(data))
            case DocumentFormat.DOCX:
                yield from _docx_lines(data)
            case DocumentFormat.XLSX:
                yield from _xlsx_lines(data)
            case DocumentFormat.PDF:
                raise DocumentRejected("is shown as pictures of its pages")
            case _:
                yield from _text_lines(decoded_text(data, kind), is_markup=kind is DocumentFormat.MARKDOWN)
    except DAMAGED as error:
        raise DocumentRejected("is damaged") from error


def _text_lines(text: str, *, is_markup: bool) -> Iterator[list[_Raw]]:
    for line in clean_text(text).splitlines():
        yield list(_sentences(line, is_markup=is_markup))


def _sentences(line: str, *, is_markup: bool = False) -> Iterator[_Raw]:
    line = line[:LINE_CHARS]
    for whole in STRUCK.split(line) if is_markup else (line,):
        for start, end in sentence_spans(whole):
            part = whole[start:end]
            yield _Raw(part, MARKUP.sub(" ", part) if is_markup else "")


def _html_lines(text: str) -> Iterator[list[_Raw]]:
    text = clean_text(text)
    markup_limits.check_markup(text)
    root = LexborHTMLParser(text).root
    line: list[_Raw] = []
    depth = 0
    for node, tag, entering in html.HtmlWalk(root, _is_unseen) if root is not None else ():
        if tag in CELLS:
            depth += 1 if entering else -1
            line.extend([_Raw(" | ")] if entering and line else [])
        elif tag == html.TEXT:
            line.extend(_sentences(BLANKS.sub(" ", (node.text_content or "").replace("\n", " "))))
        elif depth and tag in html.BLOCKS:
            line.append(_Raw(" "))
        elif tag in html.BLOCKS or tag == "br":
            yield line
            line = []
    yield line


def _is_unseen(node: LexborNode) -> bool:
    return node.tag in UNSEEN


def _docx_lines(data: bytes) -> Iterator[list[_Raw]]:
    check_unpacked_size(data)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        for name in sorted(filter(PARTS.fullmatch, file.namelist()), key=_reading_order):
            root = ET.fromstring(file.read(name))  # noqa: S314  # expat limits entities
            in_rows = {id(each) for row in _named(root, "tr") for each in _named(row, "p")}
            for each in root.iter():
                if _is(each, "tr"):
                    yield _row(list(_paragraph(part)) for part in _named(each, "p"))
                elif _is(each, "p") and id(each) not in in_rows:
                    yield list(_paragraph(each))


def _reading_order(name: str) -> tuple[bool, bool, str]:
    return "header" not in name, "document" not in name, name


def _paragraph(paragraph: ET.Element) -> Iterator[_Raw]:
    """A paragraph by sentence; hidden, struck and deleted runs are texts of their own."""
    for _, runs in groupby(_named(paragraph, "r"), _is_special):
        texts = (_run_text(each) for run in runs for each in run)
        yield from _sentences("".join(texts))


def _is_special(run: ET.Element) -> tuple[bool, ...]:
    return tuple(
        next(_named(run, name), None) is not None for name in ("vanish", "strike", "dstrike", "delText")
    )


def _run_text(part: ET.Element) -> str:
    if _is(part, "tab") or _is(part, "br"):
        return " "
    return part.text or "" if _is(part, "t") or _is(part, "delText") else ""


def _named(root: ET.Element, name: str) -> Iterator[ET.Element]:
    return (each for each in root.iter() if each is not root and _is(each, name))


def _is(element: ET.Element, name: str) -> bool:
    return element.tag in {f"{names}{name}" for names in docx.WORDS}


def _xlsx_lines(data: bytes) -> Iterator[list[_Raw]]:
    from openpyxl import load_workbook  # noqa: PLC0415  # 20 MB that only a reading process needs

    check_unpacked_size(data)
    book = load_workbook(io.BytesIO(data), data_only=True)
    for sheet in book.worksheets:
        yield [_Raw(sheet.title)]
        for row in sheet.iter_rows():
            yield _row(
                [_Raw(single_line(str(each.value)), shown_value(each.value, each.number_format or "General"))]
                for each in row
                if each.value is not None
            )


def _row(cells: Iterable[list[_Raw]]) -> list[_Raw]:
    return [part for cell in cells for part in (*cell, _Raw(" | "))][:-1]
