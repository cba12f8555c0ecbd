"""The lines of a document's source that has markup: HTML, Word and Excel."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final
from xml.etree import ElementTree as ET

from selectolax.lexbor import LexborHTMLParser, LexborNode

from worker.documents import docx, html, markup_limits, saved_page
from worker.documents.cleaning import BLANKS, clean_text, single_line
from worker.documents.model import DocumentFormat
from worker.documents.number_formats import shown_value
from worker.documents.reading import decoded_text
from worker.documents.source_parts import SourcePart, sentence_parts
from worker.documents.zipped import check_unpacked_size

UNSEEN: Final = frozenset(["script", "style", "template", "noscript", "head"])
CELLS: Final = frozenset(["td", "th"])
PARTS: Final = re.compile(r"word/(?:header|document|footnotes|endnotes|footer)\d*\.xml")


def markup_lines(data: bytes, kind: DocumentFormat) -> Iterator[list[SourcePart]]:
    """The lines of a document of these formats, each as its sentences.

    Raises:
        DocumentRejected: the document cannot be decoded, or is too large.
    """
    match kind:
        case DocumentFormat.DOCX:
            return _docx_lines(data)
        case DocumentFormat.XLSX:
            return _xlsx_lines(data)
        case DocumentFormat.MHTML:
            return _html_lines(saved_page.page_of(data))
        case _:
            return _html_lines(decoded_text(data, kind))


def _html_lines(text: str) -> Iterator[list[SourcePart]]:
    text = clean_text(text)
    markup_limits.check_markup(text)
    root = LexborHTMLParser(text).root
    line: list[SourcePart] = []
    depth = 0
    for node, tag, entering in html.HtmlWalk(root, _is_unseen) if root is not None else ():
        if tag in CELLS:
            depth += 1 if entering else -1
            line.extend([SourcePart(" | ")] if entering and line else [])
        elif tag == html.TEXT:
            line.extend(sentence_parts(BLANKS.sub(" ", (node.text_content or "").replace("\n", " "))))
        elif depth and tag in html.BLOCKS:
            line.append(SourcePart(" "))
        elif tag in html.BLOCKS or tag == "br":
            yield line
            line = []
    yield line


def _is_unseen(node: LexborNode) -> bool:
    return node.tag in UNSEEN


def _docx_lines(data: bytes) -> Iterator[list[SourcePart]]:
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


def _paragraph(paragraph: ET.Element) -> Iterator[SourcePart]:
    """A paragraph by sentence; hidden, struck and deleted runs are texts of their own."""
    for _, runs in groupby(_named(paragraph, "r"), _is_special):
        texts = (_run_text(each) for run in runs for each in run)
        yield from sentence_parts("".join(texts))


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


def _xlsx_lines(data: bytes) -> Iterator[list[SourcePart]]:
    from openpyxl import load_workbook  # noqa: PLC0415  # 20 MB that only a reading process needs

    check_unpacked_size(data)
    book = load_workbook(io.BytesIO(data), data_only=True)
    for sheet in book.worksheets:
        yield [SourcePart(sheet.title)]
        for row in sheet.iter_rows():
            yield _row(
                [
                    SourcePart(
                        single_line(str(each.value)), shown_value(each.value, each.number_format or "General")
                    )
                ]
                for each in row
                if each.value is not None
            )


def _row(cells: Iterable[list[SourcePart]]) -> list[SourcePart]:
    return [part for cell in cells for part in (*cell, SourcePart(" | "))][:-1]
