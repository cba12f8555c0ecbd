"""HTML tables of values: rows with every cell in its column, also where cells span rows or columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from selectolax.lexbor import LexborNode

from worker.documents.cleaning import single_line
from worker.documents.model import Block, table_block

HtmlRow: TypeAlias = tuple[str, ...]
MOST_SPAN: Final = 100
MOST_COLUMNS: Final = 100
LAYOUT_CHARS: Final = 600
"""A cell with more text, and more than one paragraph, is a part of the page."""
PAIR_CHARS: Final = 80
PARTS: Final = frozenset(["tbody", "thead", "tfoot"])


TABLE_ROLES: Final = frozenset(["table", "grid", "treegrid"])
CELL_ROLES: Final = frozenset(["cell", "gridcell", "columnheader", "rowheader"])


class HtmlCell(NamedTuple):
    """A cell, and how many rows and columns it fills."""

    text: str
    rows: int
    columns: int


class Table(NamedTuple):
    """The rows of a table; the first ``head`` of them name its columns."""

    rows: Sequence[HtmlRow]
    head: int


def is_table(node: LexborNode, tag: str) -> bool:
    """Whether an element is a table, by its tag or its role."""
    return tag == "table" or (tag == "div" and node.attributes.get("role") in TABLE_ROLES)


def short_pairs(names: LexborNode) -> list[tuple[LexborNode, LexborNode]]:
    """Name and value of each line of a list of short values, such as prices; empty for other lists."""
    inner = [each for part in names.iter() for each in (part.iter() if part.tag == "div" else [part])]
    pairs = list(zip(inner[::2], inner[1::2], strict=False))
    is_paired = len(inner) % 2 == 0 and all((name.tag, value.tag) == ("dt", "dd") for name, value in pairs)
    is_short = all(
        len(value.text()) <= PAIR_CHARS and not name.text(strip=True).endswith("?") for name, value in pairs
    )
    return pairs if is_paired and is_short else []


def holds_values(table: LexborNode) -> bool:
    """Whether a table holds values, and does not only arrange a page."""
    role = (table.attributes.get("role") or "").lower()
    if role in ("presentation", "none") or table.css_first("h1,h2,h3,main,article,form") is not None:
        return False
    rows = list(cells_of(table, lambda _: False))
    if table.tag != "table":
        said = "".join(cell.text() for row in rows for cell in row)
        if "".join(said.split()) != "".join(table.text().split()):
            return False  # a text beside the cells would be lost
    if max(map(len, rows), default=0) < 2 and table.css_first("th") is None:
        return False
    return not any(
        len(cell.text()) > LAYOUT_CHARS and len(cell.css("p,div,br,li")) > 3 for row in rows for cell in row
    )


def cells_of(table: LexborNode, is_left_out: Callable[[LexborNode], bool]) -> Iterator[list[LexborNode]]:
    """The cells of each row; rows and cells that are left out are missing."""
    if table.tag != "table":
        for row in table.css("[role=row]"):
            if not any(map(is_left_out, _up_to(row, table))):
                cells = (each for each in row.css("[role]") if each.attributes.get("role") in CELL_ROLES)
                yield [cell for cell in cells if not is_left_out(cell)]
        return
    for part in table.iter():
        rows = part.iter() if part.tag in PARTS else [part]
        for row in rows:
            if row.tag == "tr" and not is_left_out(row):
                yield [cell for cell in row.iter() if cell.tag in ("td", "th") and not is_left_out(cell)]


def _up_to(row: LexborNode, table: LexborNode) -> Iterator[LexborNode]:
    """A row and what is around it within its table, such as a group of rows."""
    around: LexborNode | None = row
    while around is not None and around.mem_id != table.mem_id:
        yield around
        around = around.parent


def pair_parts(name: LexborNode, value: LexborNode) -> Iterator[LexborNode]:
    """The elements of a pair: what is around it within its list, name and value."""
    if name.parent is not None and name.parent.tag == "div":
        yield name.parent
    yield from (name, value)


def head_rows(table: LexborNode) -> int:
    """How many rows name the columns: those in ``thead``, else the first ones of ``th`` only."""
    if head := table.css_first("thead"):
        return len([row for row in head.iter() if row.tag == "tr"])
    count = 0
    for row in cells_of(table, lambda _: False):
        if not row or any(cell.tag != "th" and cell.attributes.get("role") != "columnheader" for cell in row):
            break
        count += 1
    return count


def caption(table: LexborNode) -> str:
    """What stands over a table; empty without a caption."""
    found = next((each for each in table.iter() if each.tag == "caption"), None)
    return single_line(found.text()) if found is not None else ""


def spans(cell: LexborNode) -> tuple[int, int]:
    """How many rows and columns a cell fills."""
    return _span(cell, "rowspan"), _span(cell, "colspan")


def spread(rows: list[list[HtmlCell]], head: int) -> Table:
    """Rows with every cell in its column.

    A value that spans rows stands in each of them. A value that spans columns stands in the first and the
    others are empty; the name above several columns stands above each.
    """
    found: list[HtmlRow] = []
    above: dict[int, tuple[str, int]] = {}
    for number, cells in enumerate(rows):
        row: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        waiting = list(reversed(cells))
        while (waiting or any(column >= len(row) for column in above)) and len(row) < MOST_COLUMNS:
            column = len(row)
            if column in above:
                text, left = above[column]
                parts = [(text, left)]
            elif waiting:
                cell = waiting.pop()
                names = number < head
                parts = [(cell.text if names or not each else "", cell.rows) for each in range(cell.columns)]
            else:
                parts = [("", 1)]
            for text, left in parts:
                if left > 1:
                    below[len(row)] = (text, left - 1)
                row.append(text)
        above = below
        if any(row):
            found.append(tuple(row))
    return Table(found, min(head, len(found)))


def table_blocks(table: Table) -> Iterator[Block]:
    """The table as a block; none when every cell is empty."""
    if table.rows:
        yield table_block(table.rows, head=table.head)


def _span(cell: LexborNode, name: str) -> int:
    value = (cell.attributes.get(name) or "1").strip()
    if value == "0" and name == "rowspan":
        return MOST_SPAN
    return min(max(int(value), 1), MOST_SPAN) if value.isascii() and value.isdigit() and len(value) < 6 else 1
