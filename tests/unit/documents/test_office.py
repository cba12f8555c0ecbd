"""DOCX, XLSX and CSV: whole rows, values as they are shown, and nothing that is hidden or deleted."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font, PatternFill

from tests.support.office_files import cell, docx, paragraph, run, table, xlsx
from worker.adapters import document_process
from worker.adapters.document_process import Names
from worker.documents.docx import parse_docx
from worker.documents.model import DocumentFormat, NoteCode
from worker.documents.number_formats import shown_value
from worker.documents.reading import decoded_text, document_format
from worker.documents.sheets import parse_csv, parse_xlsx
from worker.errors import DocumentRejected

RAISED = '<w:vertAlign w:val="superscript"/>'
HIDDEN_STYLE = '<w:style w:type="character" w:styleId="Hidden"><w:rPr><w:vanish/></w:rPr></w:style>'
DELETED_ROW = '<w:trPr><w:del w:id="4" w:author="a"/></w:trPr>'


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (paragraph(run("Bulb € 4"), run("99", RAISED), run(" each")), "Bulb € 4.99 each"),
        (paragraph(run("€ 89", "<w:strike/>"), run(" € 69")), "€ 69"),
        (paragraph(run("€ 89", "<w:dstrike/>"), run(" € 69")), "€ 69"),
        (paragraph(run("secret", "<w:vanish/>"), run("seen")), "seen"),
        (paragraph(run("seen", '<w:vanish w:val="0"/>')), "seen"),
        (
            paragraph(
                run("within "), '<w:del w:id="1" w:author="a"><w:r><w:delText>14</w:delText></w:r></w:del>',
                f'<w:ins w:id="2" w:author="a">{run("30")}</w:ins>', run(" days"),
            ),
            "within 30 days",
        ),
        (paragraph(f'<w:moveFrom w:id="3" w:author="a">{run("away")}</w:moveFrom>', run("stays")), "stays"),
        (
            table(
                f"<w:trPr><w:tblHeader/></w:trPr>{cell('Day')}{cell('Morning')}{cell('Afternoon')}",
                cell("Mon") + cell("9-12", '<w:vMerge w:val="restart"/>') + cell("13-18"),
                cell("Tue") + cell("", "<w:vMerge/>") + cell("14-20"),
                cell("Sun") + cell("closed", '<w:gridSpan w:val="2"/>'),
            ),
            "Day | Morning | Afternoon\nMon | 9-12 | 13-18\nTue | 9-12 | 14-20\nSun | closed |",
        ),
        (
            table(f"{DELETED_ROW}{cell('old')}{cell('1')}", cell("new") + cell("2")),
            "new | 2",
        ),
        (paragraph(run("€ 4"), run("99", '<w:position w:val="6"/>'), run(" each")), "€ 4.99 each"),
        (paragraph(run("seen"), run(" old", '<w:color w:val="FFFFFF"/>')), "seen"),
        (paragraph(run("seen", '<w:color w:val="FFFFFF"/><w:shd w:val="clear" w:fill="1F4E79"/>')), "seen"),
        (paragraph(run("seen", '<w:color w:val="FFFFFF"/><w:highlight w:val="blue"/>')), "seen"),
        (
            paragraph('<w:r><w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml"><v:textbox>'
                      "<w:txbxContent>" + paragraph(run("seen", '<w:color w:val="FFFFFF"/>'))
                      + "</w:txbxContent></v:textbox></v:shape></w:pict></w:r>"),
            "seen",
        ),
        (
            table(cell("Day").replace("<w:tcPr>", '<w:tcPr><w:shd w:fill="1F4E79"/>').replace(
                "<w:rPr>", '<w:rPr><w:color w:val="FFFFFF"/>') + cell("Hours"), cell("Mon") + cell("9-12")),
            "Day | Hours\nMon | 9-12",
        ),
        (paragraph(run("seen"), run(" old", '<w:sz w:val="2"/>')), "seen"),
        (paragraph(run("seen"), run(" old", '<w:rStyle w:val="Hidden"/>')), "seen"),
        (paragraph(run("seen", '<w:rStyle w:val="Hidden"/><w:vanish w:val="0"/>')), "seen"),
        (
            paragraph('<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>' + run("Click here")
                      + "</w:sdtContent></w:sdt>", run("seen")),
            "seen",
        ),
        (table(f"<w:trPr><w:hidden/></w:trPr>{cell('old')}{cell('1')}", cell("new") + cell("2")), "new | 2"),
    ],
)  # fmt: skip
def test_a_docx_is_read_with_all_changes_accepted(body: str, text: str) -> None:
    """Deleted, hidden and struck text is no knowledge."""
    assert parse_docx(docx(body, styles=HIDDEN_STYLE)).text == text


@pytest.mark.parametrize(("own", "title"), [("returns_v2.docx", "Returns"), ("Our returns", "Our returns")])
def test_a_docx_is_named_by_its_title_or_first_heading(own: str, title: str) -> None:
    """A file's name is no title."""
    body = paragraph(run("Returns"), style="Heading1") + paragraph(run("Within 30 days."))

    assert parse_docx(docx(body, title=own)).title == title


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"hello", docx("")[:300]])
def test_a_damaged_docx_is_refused(data: bytes) -> None:
    """With a reason."""
    with pytest.raises(DocumentRejected, match="is damaged or no DOCX file"):
        parse_docx(data)


def fill(book: Any, sheet: Any) -> None:
    """A price list as shops have them."""
    sheet["A1"] = "Lumen price list 2026"
    for row in (
        ("Article", "Name", "Shop", "Dealer", "VAT", "From"),
        ("LL-3", "Aurora", 4.9, 3, 0.19, dt.date(2026, 1, 4)),
        ("LL-4", None, 1302.5, 900, 0.19, dt.date(2026, 1, 5)),
        ("LL-5", "Boreal", 12, 8, 0.07, dt.date(2026, 1, 6)),
        ("LL-6", "Nova", 99, 70, 0.19, None),
        ("LL-7", "hidden row", 1, 1, 0.19, None),
    ):
        sheet.append(row)
    for line in range(3, 8):
        sheet.cell(line, 3).number_format = '#,##0.00 "€"'
        sheet.cell(line, 5).number_format = "0%"
    sheet.merge_cells("B3:B4")
    sheet["C6"].font = Font(strike=True)
    sheet.row_dimensions[7].hidden = True
    sheet.column_dimensions["D"].hidden = True
    costs = book.create_sheet("Purchase")
    costs["A1"] = "secret costs"
    costs.sheet_state = "hidden"


def test_a_price_list_is_read_as_it_is_shown() -> None:
    """Merged cells in each of their rows; nothing hidden or struck."""
    found = parse_xlsx(xlsx(fill))

    assert found.blocks[0].text == "Lumen price list 2026"
    assert found.blocks[1].text.splitlines() == [
        "Article | Name | Shop | VAT | From",
        "LL-3 | Aurora | 4.90 € | 19% | 2026-01-04",
        "LL-4 | Aurora | 1302.50 € | 19% | 2026-01-05",
        "LL-5 | Boreal | 12.00 € | 7% | 2026-01-06",
        "LL-6 | Nova |  | 19% |",
    ]
    assert found.blocks[1].head == len("Article | Name | Shop | VAT | From\n")
    assert {note.code: note.count for note in found.notes} == {NoteCode.HIDDEN: 3, NoteCode.STRUCK: 1}


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (4.9, "0.00", "4.90"), (4.9, "General", "4.9"), (0.1 + 0.2, "General", "0.3"), (10.0, "General",
        "10"),
        (4.9, '_-* #,##0.00\\ "€"_-;-* #,##0.00 "€"', "4.90 €"), (4.9, "[$€-407] #,##0.00", "€ 4.90"),
        (4.9, "$#,##0.00", "$4.90"), (-5, "#,##0.00 €", "-5.00 €"), (1234567.891, "#,##0", "1234568"),
        (0.195, "0.0%", "19.5%"), (4.5, "0.##", "4.5"), (201, "@", "201"), (True, "General", "TRUE"),
        (7, "000", "007"), (1234567, '0.0,, "M"', "1.2 M"), (5, ";;;", ""), (5, ";;;@", ""),
        (dt.datetime(2026, 1, 4, 9, 30), "dd.mm.yyyy hh:mm", "2026-01-04 09:30"),  # noqa: DTZ001  # as sheets have
        (dt.time(9, 30), "hh:mm", "09:30"), ("text", "0.00", "text"), (None, "0.00", ""),
    ],
)  # fmt: skip
def test_a_value_keeps_the_form_of_its_cell(value: object, number_format: str, shown: str) -> None:
    """Decimals, currency and percent are part of a price."""
    assert shown_value(value, number_format) == shown


def test_a_docx_names_what_was_hidden_in_it() -> None:
    """So that its owner sees a mistake."""
    (note,) = parse_docx(docx(paragraph(run("seen"), run(" old  fee", "<w:vanish/>")))).notes

    assert (note.code, note.count, note.examples) == (NoteCode.HIDDEN, 1, ("old fee",))


def test_letters_of_a_cell_are_read_by_their_fonts() -> None:
    """Struck and white ones are left out, raised ones never join others."""

    def offer(_: Any, sheet: Any) -> None:
        sheet.append(["Lamp", "Price"])
        struck, small = InlineFont(strike=True), InlineFont(vertAlign="superscript")
        sheet.append(["Aurora", CellRichText(TextBlock(struck, "€ 89"), " € 69")])
        sheet.append(["Bulb", CellRichText("€ 4", TextBlock(small, "99"))])
        sheet.append(["Old lamp", 5])
        sheet["A4"].font = Font(color="FFFFFFFF")
        sheet["A1"].font, sheet["A1"].fill = Font(color="FFFFFFFF"), PatternFill("solid", "FF1F4E79")

    found = parse_xlsx(xlsx(offer))

    assert found.text.splitlines() == ["Lamp | Price", "Aurora | € 69", "Bulb | € 4.99", "| 5"]
    assert {note.code: note.count for note in found.notes} == {NoteCode.STRUCK: 1, NoteCode.HIDDEN: 1}


async def test_a_sheet_formatted_to_its_last_row_is_read_as_one_that_is_not() -> None:
    """Such as by a column's border: the places up to there would take a gigabyte; tables stay parted."""

    def formatted(_: Any, sheet: Any) -> None:
        sheet.append(["Article", "Price", *(f"Size {number}" for number in range(10))])
        sheet.append(["LL-3", 4])
        sheet["A9"], sheet["B9"] = "LL-4", 5
        sheet["B1048576"].font = Font(bold=True)

    found = await document_process.cut(xlsx(formatted), DocumentFormat.XLSX, Names())

    first, second = found.chunks[0].text.split("\n\n")
    assert first.splitlines()[1].startswith("LL-3 | 4")
    assert second == "LL-4 | 5"


def test_formulas_without_values_are_refused() -> None:
    """A program wrote the file that no spreadsheet program has opened."""

    def formula(_: Any, sheet: Any) -> None:
        sheet["A1"], sheet["B1"] = "=1+1", "=2+2"

    with pytest.raises(DocumentRejected, match="formulas without values"):
        parse_xlsx(xlsx(formula))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"hello", xlsx(fill)[:500], docx("")])
def test_a_damaged_workbook_is_refused(data: bytes) -> None:
    """With a reason."""
    with pytest.raises(DocumentRejected, match=r"is damaged or no workbook"):
        parse_xlsx(data)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            'Article;Name;Price\nLL-1;"Lamp; large";4,99 €\nLL-2;;12,50 €\n',
            ["Article | Name | Price", "LL-1 | Lamp; large | 4,99 €", "LL-2 |  | 12,50 €"],
        ),
        ('a,b\n1,"4,99"\n', ["a | b", "1 | 4,99"]),
        ("a\tb\n1\t4,99\n", ["a | b", "1 | 4,99"]),
        ("sep=|\na|b\n1|2;3\n", ["a | b", "1 | 2;3"]),
        ('a;b\n"two\nlines";3\n', ["a | b", "two lines | 3"]),
        ('a;b\n="007";3\n', ["a | b", "007 | 3"]),
        (
            "Artikel;Preis\nLL-1;1.299,00\n\nLL-2;5,00\n",
            ["Artikel | Preis", "LL-1 | 1.299,00", "", "Artikel | Preis", "LL-2 | 5,00"],
        ),
    ],
)
def test_a_csv_file_is_a_table(text: str, rows: list[str]) -> None:
    """Whatever its delimiter; decimal commas stay."""
    assert parse_csv(text).text.splitlines() == rows


def test_a_sheet_of_too_many_columns_is_refused() -> None:
    """Its last columns are not left out in silence; empty ones do not count."""

    def wide(_: Any, sheet: Any) -> None:
        sheet["A1"], sheet["SG1"] = "Article", "Price"

    assert parse_csv("Article,Price" + "," * 500 + "\nlamp,4").text
    with pytest.raises(DocumentRejected, match="more than 500 columns"):
        parse_csv("Article" + "," * 500 + "Price\nlamp" + "," * 500 + "4")
    with pytest.raises(DocumentRejected, match="more than 500 columns"):
        parse_xlsx(xlsx(wide))


def test_a_csv_file_of_another_encoding_is_refused_with_advice() -> None:
    """Encodings are never guessed."""
    with pytest.raises(DocumentRejected, match='save it as "CSV UTF-8"'):
        decoded_text("Preis;5 €".encode("cp1252"), DocumentFormat.CSV)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.docx", b"", DocumentFormat.DOCX), ("a.xlsx", b"", DocumentFormat.XLSX),
        ("A.CSV", b"", DocumentFormat.CSV),
        ("a.mht", b"", DocumentFormat.MHTML), ("", docx(""), DocumentFormat.DOCX),
        ("", xlsx(fill), DocumentFormat.XLSX),
        ("", b"From: <Saved by Blink>\r\n", DocumentFormat.MHTML), ("", b"PK\x03\x04", None),
        ("a.doc", b"", None),
    ],
)  # fmt: skip
def test_office_files_are_known_by_name_or_content(
    name: str, data: bytes, expected: DocumentFormat | None
) -> None:
    """An ending decides; a pipe is looked into."""
    assert document_format(name, data) is expected
