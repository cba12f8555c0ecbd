"""Running headers and footers of a PDF: what stands at the same place of most pages is no knowledge."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from worker.documents.pdf_rows import PdfRow

EDGE_ROWS: Final = 3
"""Rows of a running head at most."""
SHARE: Final = 0.4
"""Heads of left and right pages differ, so that each stands on less than half of them."""
PLACE_PT: Final = 4.0
APART: Final = 1.3
"""A head stands further from the text than lines of text from each other, by this factor."""
NUMBER: Final = re.compile(r"\d+")
PAGE_NUMBER: Final = re.compile(
    r"\W*(?:(?:page|pag\.?|seite|página|pagina|pág\.?|strona|str\.?|sivu|sida|side|blad|strana|oldal|sayfa|trang"
    r"|стр(?:аница|\.)?|σελίδα|صفحة|עמוד|第|p\.|s\.)\s*)?\d{1,4}(?:\s*(?:/|\||of|von|de|sur|di|van|z|av|af|из|/)\s*\d{1,4})?"
    r"\W*(?:页|頁|ページ|쪽)?\W*|[ivxl]{1,7}",
    re.IGNORECASE,
)
NAMED_NUMBER: Final = re.compile(
    r"(?i:\b(?:page|seite|pagina|página|strona|sida|side|sivu|blad|oldal|p\.|s\.)|стр\.?|第)\s*(\d{1,4})"
)
LAST_NUMBER: Final = re.compile(r"(?<!\d)(\d{1,4})\D*$")
PRINTED_FROM: Final = re.compile(r"\b(?:file|https?)://\S+(?:\s+\d+/\d+)?$")
PRINTED_AT: Final = re.compile(r"^\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? \d{1,2}:\d\d(?: ?[AP]M)?\b")


def without_heads(pages: Sequence[Sequence[PdfRow]]) -> tuple[list[list[PdfRow]], list[str]]:
    """The pages without running heads, and the different texts of these."""
    edges = [(_edge_sizes(rows), _edge_sizes(rows[::-1])) for rows in pages]
    seen = Counter(
        key
        for page, rows in enumerate(pages)
        for is_top, sizes in zip((True, False), edges[page], strict=True)
        for row in _edge(rows, max(sizes, default=0), is_top=is_top)
        for key in set(_keys(row, is_top, page))
    )
    least = max(2.0, SHARE * sum(bool(rows) for rows in pages))
    found: list[list[PdfRow]] = []
    heads: dict[str, None] = {}
    for page, rows in enumerate(pages):

        def is_head(row: PdfRow, *, is_top: bool, page: int = page) -> bool:
            is_number = len(pages) > 1 and PAGE_NUMBER.fullmatch(row.text) is not None
            return is_number or any(seen[key] >= least for key in _keys(row, is_top, page))

        drop = {id(row) for row in _printed(rows)}
        for is_top, sizes in zip((True, False), edges[page], strict=True):
            for size in sizes:
                edge = _edge(rows, size, is_top=is_top)
                if all(is_head(row, is_top=is_top) for row in edge):
                    drop |= set(map(id, edge))
        heads |= {NUMBER.sub("#", row.text): None for row in rows if id(row) in drop}
        found.append([row for row in rows if id(row) not in drop])
    return found, list(heads)


def _printed(rows: Sequence[PdfRow]) -> list[PdfRow]:
    """What a browser prints above and below a page, which may stand near its text."""
    if len(rows) < 3 or not PRINTED_FROM.search(rows[-1].text):
        return []
    return [row for row in (rows[0], rows[-1]) if _is_print(row)]


def _is_print(row: PdfRow) -> bool:
    """Whether a row is what a browser prints above or below a page."""
    return PRINTED_AT.search(row.text) is not None or PRINTED_FROM.search(row.text) is not None


def _edge_sizes(rows: Sequence[PdfRow]) -> list[int]:
    """How many rows from one edge on may be a running head: few, and apart from the others."""
    gaps = [abs(one.bottom - other.bottom) for one, other in itertools.pairwise(rows)]
    usual = sorted(gaps)[(len(gaps) - 1) // 3] if gaps else 0.0
    most = min(EDGE_ROWS, (len(rows) - 1) // 2 if len(rows) > 2 else 0)
    return [size for size in range(1, most + 1) if gaps[size - 1] > APART * usual]


def _edge(rows: Sequence[PdfRow], size: int, *, is_top: bool) -> Sequence[PdfRow]:
    return rows[:size] if is_top else rows[len(rows) - size :]


def _keys(row: PdfRow, is_top: bool, page: int) -> Iterator[tuple[str, int, bool]]:
    """Equal for rows of one place with the same text, or whose text differs by the page's number only."""
    place = round((row.bottom + row.top) / 2 / PLACE_PT)
    yield row.text, place, is_top
    if (number := _page_number(row, is_top=is_top)) is not None:
        start, end = number.span(1)
        yield f"{row.text[:start]}#{int(number[1]) - page}{row.text[end:]}", place, is_top


def _page_number(row: PdfRow, *, is_top: bool) -> re.Match[str] | None:
    """The number of the page in a head: behind a word for page, before a total, or alone in its cell.

    At the bottom also the last number: above the text that may be a heading's own.
    """
    if found := NAMED_NUMBER.search(row.text):
        return found
    is_alone = len(row.cells) > 1 and any(cell.text.strip(" -–|").isdecimal() for cell in row.cells)
    if is_alone or not is_top:
        return LAST_NUMBER.search(row.text)
    return None
