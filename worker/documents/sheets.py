"""Price lists: XLSX by openpyxl and CSV by the standard library, each sheet as tables."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from worker.documents.cleaning import clean_text, single_line
from worker.documents.model import Block, Note, NoteCode, ParsedDocument, names_columns, table_block
from worker.documents.number_formats import shown_value
from worker.documents.superscripts import raised
from worker.documents.titles import own_title
from worker.documents.zipped import DAMAGED, check_unpacked_size
from worker.errors import DocumentRejected

if TYPE_CHECKING:
    from openpyxl.cell.cell import Cell, MergedCell
    from openpyxl.workbook.workbook import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

SheetGrid: TypeAlias = list[tuple[str, ...]]
DELIMITERS: Final = (";", ",", "\t", "|")
SAMPLE_ROWS: Final = 100
MOST_COLUMNS: Final = 500
TOO_WIDE: Final = f"has values in more than {MOST_COLUMNS} columns, the limit: split it"
UNEVALUATED: Final = re.compile(rb"<f\b[^>]*>[^<]*</f>\s*(?:<v\s*/>|<v>\s*</v>|</c>)")
QUOTED_FORMULA: Final = re.compile(r'^="([^"]*)"$')
"""How a program keeps the zeros of a code."""
FIELD_CHARS: Final = 1_000_000


def parse_csv(text: str) -> ParsedDocument:
    """The rows of a CSV file; of the delimiters counts that with the same number of cells in most rows.

    Raises:
        DocumentRejected: it is damaged or too wide.
    """
    text = clean_text(text)
    first, _, rest = text.partition("\n")
    named = first.removeprefix("sep=") if first.startswith("sep=") else ""
    text = rest if named else text
    rows = list(_csv_rows(text, named[:1] or _delimiter(text)))
    if any(any(row[MOST_COLUMNS:]) for row in rows):
        raise DocumentRejected(TOO_WIDE)
    return ParsedDocument(title="", blocks=tuple(grid_blocks(rows)))


def parse_xlsx(data: bytes) -> ParsedDocument:
    """The visible sheets, rows and columns of a workbook, with the values that were stored last.

    Raises:
        DocumentRejected: no workbook, locked by a password, or too wide.
    """
    from openpyxl import load_workbook  # noqa: PLC0415  # 20 MB that only a reading process needs
    from openpyxl.utils.exceptions import InvalidFileException  # noqa: PLC0415

    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise DocumentRejected("is an old workbook, or locked by a password: save it as .xlsx without one")
    try:
        check_unpacked_size(data)
        book = load_workbook(io.BytesIO(data), data_only=True, rich_text=True)
        reader = _Workbook(without_values=_formulas_without_values(data))
        blocks = tuple(reader.blocks(book))
    except (InvalidFileException, *DAMAGED) as error:
        raise DocumentRejected("is damaged or no workbook (.xlsx)") from error
    if not blocks and reader.left_out[NoteCode.NO_VALUES]:
        raise DocumentRejected("holds formulas without values: open it in a spreadsheet program and save it")
    notes = tuple(reader.notes())
    return ParsedDocument(
        title=own_title(book.properties.title or ""), blocks=blocks, notes=notes, pages=len(book.worksheets)
    )


def grid_blocks(rows: SheetGrid, *, page: int = 0) -> Iterator[Block]:
    """The tables of a sheet, parted by empty rows; a row of one cell before a table is a paragraph.

    A table without names of its columns, which goes on behind an empty row, has those of the table above.
    """
    part: SheetGrid = []
    above: SheetGrid = []
    for row in [*rows, ()]:
        if any(row):
            part.append(row)
            continue
        start = next((at for at, cells in enumerate(part) if sum(map(bool, cells)) > 1), len(part))
        for cells in part[:start]:
            yield Block(text=next(filter(None, cells)), page=page)
        table = part[start:]
        if table and above and not names_columns(table[0]) and _fit(table, above[0]):
            table = [above[0], *table]
        if table:
            yield _table(table, page)
            above = table if names_columns(table[0]) else []
        part = []


def _fit(table: SheetGrid, head: tuple[str, ...]) -> bool:
    """Whether every column in use has a name."""
    return all(len(head) > at and head[at] for row in table for at, cell in enumerate(row) if cell)


def _table(rows: SheetGrid, page: int) -> Block:
    """A table without the columns that are empty in every row."""
    width = max(len(row) for row in rows)
    used = [at for at in range(width) if any(len(row) > at and row[at] for row in rows)]
    return table_block([tuple(row[at] if at < len(row) else "" for at in used) for row in rows], page=page)


class _Workbook:
    """Reads the sheets of a workbook; counts what is hidden, struck or without a value."""

    def __init__(self, *, without_values: int) -> None:
        self.left_out: Counter[NoteCode] = Counter({NoteCode.NO_VALUES: without_values})

    def blocks(self, book: Workbook) -> Iterator[Block]:
        """The blocks of the visible sheets."""
        shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        self.left_out[NoteCode.HIDDEN] += len(book.worksheets) - len(shown)
        for number, sheet in enumerate(shown, 1):
            found = list(grid_blocks(self._rows(sheet), page=number))
            if found and len(shown) > 1:
                yield Block(text=single_line(clean_text(sheet.title)) or f"{number}", level=2, page=number)
            yield from found

    def notes(self) -> Iterator[Note]:
        """What was left out."""
        for code, count in self.left_out.items():
            if count:
                yield Note(code=code, count=count)

    def _rows(self, sheet: Worksheet) -> SheetGrid:
        hidden = _hidden_columns(sheet)
        found: SheetGrid = []
        before = 0
        for number, cells in sorted(_cells_with_values(sheet).items()):
            if any(not _is_hidden(sheet, each) for each in range(before + 1, number)):
                found.append(())
            before = number
            texts = tuple(
                self._text(cells[column]) if column in cells and column not in hidden else ""
                for column in range(1, max(cells) + 1)
            )
            if _is_hidden(sheet, number):
                self.left_out[NoteCode.HIDDEN] += any(texts)
                continue
            found.append(texts)
        self.left_out[NoteCode.HIDDEN] += len(hidden)
        return found

    def _text(self, cell: Cell | MergedCell) -> str:
        if cell.font is not None and cell.font.strike:
            self.left_out[NoteCode.STRUCK] += 1
            return ""
        if _is_white(cell):
            self.left_out[NoteCode.HIDDEN] += 1
            return ""
        if not isinstance(cell.value, str) and hasattr(cell.value, "as_list"):
            return single_line(clean_text(self._rich(cell.value)))
        if cell.data_type == "e":
            self.left_out[NoteCode.NO_VALUES] += 1
            return ""
        return single_line(clean_text(shown_value(cell.value, cell.number_format or "General")))

    def _rich(self, parts: Iterable[Any]) -> str:
        """The text of a cell whose letters have several fonts: without struck parts, raised ones as such."""
        text = ""
        for part in parts:
            font = getattr(part, "font", None)
            plain = str(getattr(part, "text", part))
            if font is not None and font.strike:
                self.left_out[NoteCode.STRUCK] += 1
            elif font is not None and font.vertAlign == "superscript":
                text += raised(text, plain, "")
            else:
                text += plain
        return text


def _is_white(cell: Cell | MergedCell) -> bool:
    """Whether letters are white on a cell without a colour."""
    colour = cell.font.color if cell.font is not None else None
    is_white = colour is not None and isinstance(colour.rgb, str) and colour.rgb.upper().endswith("FFFFFF")
    return is_white and (cell.fill is None or cell.fill.fill_type is None)


def _formulas_without_values(data: bytes) -> int:
    """How many cells have a formula that no spreadsheet program has evaluated."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        sheets = (
            name for name in file.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")
        )
        return sum(len(UNEVALUATED.findall(file.read(name))) for name in sheets)


def _hidden_columns(sheet: Worksheet) -> set[int]:
    """Numbers of hidden columns up to the last one in use."""
    found: set[int] = set()
    for each in sheet.column_dimensions.values():
        if each.hidden:
            first = each.min or each.index
            found.update(range(int(first), min(int(each.max or first), sheet.max_column) + 1))
    return found


def _is_hidden(sheet: Worksheet, row: int) -> bool:
    return row in sheet.row_dimensions and bool(sheet.row_dimensions[row].hidden)


def _cells_with_values(sheet: Worksheet) -> dict[int, dict[int, Cell | MergedCell]]:
    """The cells with values by row and column; the value of a merged range stands in each of its rows.

    ``iter_rows`` makes a cell for every place up to the last formatted one, often in row 1,048,576: 1 GB.
    """
    found: defaultdict[int, dict[int, Cell | MergedCell]] = defaultdict(dict)
    for (row, column), cell in sheet._cells.items():  # noqa: SLF001  # has no public name
        if cell.value is None:
            continue
        if column > MOST_COLUMNS:
            raise DocumentRejected(TOO_WIDE)
        found[row][column] = cell
    last = max(found, default=0)
    for each in sheet.merged_cells.ranges:
        shown = found.get(each.min_row, {}).get(each.min_col)
        if shown is not None:
            for row in range(each.min_row + 1, min(each.max_row, last) + 1):
                found[row][each.min_col] = shown
    return found


def _csv_rows(text: str, delimiter: str) -> Iterator[tuple[str, ...]]:
    csv.field_size_limit(FIELD_CHARS)
    try:
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            yield tuple(QUOTED_FORMULA.sub(r"\1", single_line(cell)) for cell in row)
    except csv.Error as error:
        raise DocumentRejected(f"is no CSV file: {error}") from error


def _delimiter(text: str) -> str:
    def rating(delimiter: str) -> tuple[int, int]:
        widths = Counter(len(row) for row in islice(_csv_rows(text[:100_000], delimiter), SAMPLE_ROWS))
        return max(((count, width) for width, count in widths.items() if width > 1), default=(0, 0))

    return max(DELIMITERS, key=rating)
