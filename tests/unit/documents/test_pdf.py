"""PDF: tables, running heads, hyphens, scans, letters without a meaning, scripts from right to left."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from tests.support.pdf_files import Item, Line, Picture, Text, lines, pdf, table, turned
from worker.documents.model import NoteCode, ParsedDocument
from worker.documents.pdf import parse_pdf
from worker.errors import DocumentRejected

FILES = Path(__file__).parents[2] / "fixtures" / "documents"
PROSE = (
    "The customer brings the lamp to the shop, and the clerk checks the article number and the",
    "receipt. Then the result is noted on the card in the box, so that the workshop knows what has",
    "been agreed with the customer before the lamp is opened for the first time.",
)
PRICES = (
    ("Lamp", "alone", "with bulb"),
    ("Aurora small", "€ 49.00", "€ 55.00"),
    ("Boreal small", "", "€ 62.00"),
    ("Boreal large", "€ 99.00", "€ 112.00"),
)


def notes(document: ParsedDocument) -> dict[NoteCode, tuple[int, int, tuple[int, ...]]]:
    """Count, whole and pages of each note."""
    return {note.code: (note.count, note.of, note.pages) for note in document.notes}


@pytest.mark.parametrize("order", [1, -1], ids=["by row", "backwards"])
def test_a_table_keeps_rows_and_empty_cells(order: int) -> None:
    """Whatever the order in which its cells were painted."""
    found = parse_pdf(pdf([*lines("Prices of 2026", y=760, size=18), *table(*PRICES)[::order]]))

    assert found.blocks[-1].is_table
    assert found.blocks[-1].text.splitlines() == [
        "Lamp | alone | with bulb",
        "Aurora small | € 49.00 | € 55.00",
        "Boreal small |  | € 62.00",
        "Boreal large | € 99.00 | € 112.00",
    ]


def test_values_painted_after_their_labels_stand_beside_them() -> None:
    """Dots that lead to a price are no text."""
    labels = [
        Text(72, 700 - 20 * n, f"{name} {'.' * 60}") for n, name in enumerate(("Switch", "Cable", "Socket"))
    ]
    values = [Text(480, 700 - 20 * n, price) for n, price in enumerate(("12 €", "18 €", "15 €"))]

    assert parse_pdf(pdf([*labels, *values])).text.splitlines() == [
        "Switch | 12 €",
        "Cable | 18 €",
        "Socket | 15 €",
    ]


def test_lines_of_one_cell_are_one_row() -> None:
    """A name over two lines belongs to one price."""
    rows = [
        Text(72, 700, "Lamp"), Text(300, 700, "Price"),
        Text(72, 670, "Aurora with glass shade"), Text(300, 670, "€ 49.00"),
        Text(72, 657, "and switch"),
        Text(72, 627, "Boreal with a long cord"), Text(300, 627, "€ 55.00"),
        Text(72, 614, "and plug"),
    ]  # fmt: skip

    assert parse_pdf(pdf(rows)).text.splitlines() == [
        "Lamp | Price",
        "Aurora with glass shade and switch | € 49.00",
        "Boreal with a long cord and plug | € 55.00",
    ]


def test_vertical_lines_part_cells_that_stand_close() -> None:
    """A browser prints narrow tables so."""
    found = parse_pdf((FILES / "browser_print.pdf").read_bytes())

    assert [block.text for block in found.blocks] == [
        "Repairs",
        "Part | Price\nSocket | 15 €\nCable | 18 €",
        "Prices with VAT.",
    ]


def test_a_table_goes_on_over_the_page() -> None:
    """A head that is printed again is no row."""
    second = (PRICES[0], ("Nova", "€ 10.00", "€ 12.00"), ("Zeta", "€ 11.00", ""))
    found = parse_pdf(pdf(table(*PRICES), table(*second)))

    assert found.text.count("Lamp | alone") == 1
    assert found.text.endswith("Zeta | € 11.00 |")
    assert len(found.blocks) == 1


def test_columns_of_prose_are_read_one_after_the_other() -> None:
    """Sentences are no cells."""
    left = lines(*(f"left column, line {n} of its prose" for n in range(4)), x=60)
    right = lines(*(f"right column, line {n} of its prose" for n in range(4)), x=320)

    assert parse_pdf(pdf([*left, *right])).text.split(" right", 1)[0].count("left column") == 4


def paged(count: int, *, top: str, bottom: str) -> bytes:
    """Pages of prose between running heads."""
    heads = (
        [
            Text(72, 800, top),
            Text(450, 800, "Version 3.1"),
            Text(72, 40, bottom),
            Text(450, 40, f"Page {n + 1} of {count}"),
        ]
        for n in range(count)
    )
    return pdf(
        *(
            [
                *head,
                *lines(*PROSE[:2], y=740),
                *lines(f"a part of it, and {n} so on the text goes on with", y=710),
            ]
            for n, head in enumerate(heads)
        )
    )


@pytest.mark.parametrize("count", [2, 9])
def test_running_heads_are_no_knowledge(count: int) -> None:
    """They stand in no sentence, and a sentence goes on over the page."""
    found = parse_pdf(paged(count, top="Lumen Lamps GmbH", bottom="Confidential - for dealers only"))

    assert not any(word in found.text for word in ("Lumen", "Version", "Confidential", "Page"))
    assert found.notes[-1].code is NoteCode.RUNNING_HEADS


def test_headings_that_differ_by_page_are_kept() -> None:
    """A series on each page is no running head, and the first row of each page's table is none."""
    pages = [
        [
            Text(72, 800, f"Series {n}"),
            *table(("Article", "Price", "Weight"), (f"LL-{n}", f"{n}.50 €", f"{n} kg")),
        ]
        for n in range(6)
    ]
    text = parse_pdf(pdf(*pages)).text

    assert all(f"Series {n}" in text and f"LL-{n} | {n}.50 € | {n} kg" in text for n in range(6))


@pytest.mark.parametrize(
    ("ends", "begins", "joined"),
    [
        ("the article LL-", "100 is sold", "LL-100"),
        ("the sole is non-", "slip and dry", "non-slip"),
        ("write an e-", "mail to us", "e-mail"),
        ("the ware-", "house sends it", "warehouse"),
        ("it takes 10-", "12 days", "10-12 days"),
        ("series LL-", "B is sold", "LL-B"),
        ("a splash-", "proof lamp, also splash-proof", "splash-proof lamp"),
    ],
)
def test_only_hyphens_of_the_line_end_are_taken_out(ends: str, begins: str, joined: str) -> None:
    """A hyphen of the word itself stays."""
    first = f"This long line of the manual goes on until it says that {ends}"

    assert joined in parse_pdf(pdf(lines(first, begins))).text


def test_pages_without_text_are_named() -> None:
    """A scan behind a cover is not accepted as complete."""
    cover = lines("Returns handbook of Lumen Lamps, edition 2026.")
    found = parse_pdf(pdf(cover, *([Picture()] for _ in range(9))))

    assert notes(found)[NoteCode.NO_TEXT] == (9, 10, tuple(range(2, 11)))


def test_a_scan_with_a_stamp_is_a_scan() -> None:
    """A page number over a picture is no text of the page; an empty page is no scan."""
    pages: list[list[Item]] = [lines(*PROSE), [Picture(), Text(280, 400, "Scan 2")], []]

    assert notes(parse_pdf(pdf(*pages)))[NoteCode.NO_TEXT] == (1, 3, (2,))


def shifted(text: str) -> str:
    """Text as a PDF without a map to Unicode gives it: every letter 29 places before its own."""
    return "".join(chr(ord(char) - 29) if char.isalpha() else " " for char in text)


def test_letters_without_a_meaning_are_refused() -> None:
    """Nobody could find or read them."""
    with pytest.raises(DocumentRejected, match="letters that cannot be read"):
        parse_pdf(pdf(lines(*map(shifted, PROSE))))


def test_a_page_of_such_letters_is_left_out_and_named() -> None:
    """The other pages are knowledge."""
    found = parse_pdf(pdf(lines(*PROSE), lines(*map(shifted, PROSE))))

    assert notes(found)[NoteCode.UNREADABLE] == (1, 2, (2,))
    assert found.text.endswith("for the first time.")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("arabic.pdf", "نوصل الطلبات خلال 3 أيام عمل. السعر 49.90 ريال لكل مصباح من سلسلة LL-201 في المتجر."),
        ("arabic.pdf", "سياسة التوصيل"),
        ("hebrew.pdf", "אנו שולחים הזמנות תוך 3 ימי עסקים. ההחזרה אפשרית תוך 30 יום במחיר ₪ 49.90."),
    ],
)
def test_scripts_from_right_to_left_are_read_in_order(name: str, text: str) -> None:
    """Letters, numbers and article codes are in the order in which they are read."""
    assert text in parse_pdf((FILES / name).read_bytes()).text


def test_raised_cents_are_cents() -> None:
    """Small digits above the line never join those on it."""
    price = [Text(72, 700, "Bulb: € 4"), Text(118, 704, "99", 6.5), Text(130, 700, "each, VAT included")]

    assert parse_pdf(pdf(price)).text == "Bulb: € 4.99 each, VAT included"


def test_struck_prices_are_left_out() -> None:
    """A line through the letters strikes them; a line below does not."""
    price: list[Item] = [
        Text(72, 700, "Aurora"), Text(120, 700, "89.00"), Line(118, 703.8, 150, 703.8),
        Text(160, 700, "69.00 euros"), Line(158, 698, 220, 698),
    ]  # fmt: skip

    assert parse_pdf(pdf(price)).text == "Aurora 69.00 euros"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Microsoft Word - returns_final_v2.docx", ""),
        ("untitled", ""),
        ("Dokument1", ""),
        ("prices 2026.indd", ""),
        ("Returns and refunds", "Returns and refunds"),
        ("Microsoft Word - Returns and refunds", "Returns and refunds"),
    ],
)
def test_the_title_of_a_tool_is_no_title(title: str, shown: str) -> None:
    """Names of files and programs are not quoted to customers."""
    assert parse_pdf(pdf(lines(*PROSE), title=title)).title == shown


OLD = "BT /F 11 Tf 72 600 Td (Old: fourteen days.) Tj ET"


@pytest.mark.parametrize(
    ("operators", "left_out"),
    [
        (f"3 Tr {OLD} 0 Tr", "Old: fourteen days."),
        (f"1 1 1 rg {OLD} 0 g", "Old: fourteen days."),
        (OLD.replace("72 600", "72 -200"), "Old: fourteen days."),
        (OLD.replace("72 600", "900 600"), "Old: fourteen days."),
        (OLD.replace("/F 11", "/F 0.5"), "Old: fourteen days."),
    ],
)
def test_invisible_letters_are_left_out_and_named(operators: str, left_out: str) -> None:
    """Without ink, white on white, off the page or of half a point."""
    found = parse_pdf(pdf([*lines("Returns are accepted within thirty days."), operators]))

    assert found.text == "Returns are accepted within thirty days."
    assert [(note.code, note.examples) for note in found.notes] == [(NoteCode.HIDDEN, (left_out,))]


def test_letters_over_a_scan_and_white_ones_on_a_colour_are_read() -> None:
    """OCR lays letters without ink over its picture."""
    scan = parse_pdf(pdf([Picture(), f"3 Tr {OLD.replace('days', 'days, unused')} 0 Tr"]))
    box = parse_pdf(pdf([*lines("Open at nine."), f"0.1 0.2 0.4 rg 70 590 300 30 re f 1 1 1 rg {OLD}"]))

    assert scan.text == "Old: fourteen days, unused."
    assert "Old: fourteen days." in box.text


def test_a_cropped_part_of_a_page_is_not_on_it() -> None:
    """Its crop box is what is shown."""
    data = pdf(lines("Returns are accepted within thirty days.", y=740) + lines("Below the crop.", y=100))
    cropped = data.replace(
        b"/MediaBox [0 0 595 842] /Contents", b"/CropBox [0 300 595 842] /MediaBox [0 0 595 842] /Contents"
    )

    assert parse_pdf(cropped).text == "Returns are accepted within thirty days."


@pytest.mark.parametrize("matrix", ["0 1 -1 0 842 0", "0 -1 1 0 -200 842", "-1 0 0 -1 595 842"])
def test_a_page_that_lies_on_its_side_is_read_as_it_is_held(matrix: str) -> None:
    """Wide price lists are printed so; with and without lines around the cells."""
    cells = table(("Lamp", "alone", "with bulb"), ("Boreal", "", "62.00"), ("Nova", "50.00", ""))
    ruled = [Line(60, y, 450, y) for y in (715, 695, 675, 655)]
    ruled += [Line(x, 655, x, 715) for x in (60, 200, 330, 450)]
    for items in (cells, [*ruled, *cells]):
        text = parse_pdf(pdf([turned(matrix, items)])).text

        assert text.splitlines() == ["Lamp | alone | with bulb", "Boreal |  | 62.00", "Nova | 50.00 |"]


def test_texts_in_another_direction_are_no_part_of_the_sentences() -> None:
    """A watermark and words at the edge are named."""
    found = parse_pdf(
        pdf([
            *lines("Returns are accepted within thirty days."),
            turned("0.7 0.7 -0.7 0.7 150 300", [Text(0, 0, "DRAFT", 60)]),
            turned("0 1 -1 0 560 300", [Text(0, 0, "For dealers")]),
        ])
    )  # fmt: skip

    assert found.text == "Returns are accepted within thirty days."
    assert [(note.code, note.examples) for note in found.notes] == [
        (NoteCode.PAGE_PARTS, ("DRAFT", "For dealers"))
    ]


def test_dots_within_a_line_lead_to_its_value() -> None:
    """Also where values stand under no column."""
    found = parse_pdf(
        pdf(lines("Socket ........ 15 EUR", "Cable ...... 18 EUR", "Switch ............ 12 EUR"))
    )

    assert found.text.splitlines() == ["Socket | 15 EUR", "Cable | 18 EUR", "Switch | 12 EUR"]


def test_roman_numbers_of_pages_are_no_text() -> None:
    """As in the first part of a manual."""
    pages = [[*lines(f"Part {at} says this.", "It goes on."), Text(300, 20, "i" * at)] for at in (1, 2, 3)]

    assert "ii" not in parse_pdf(pdf(*pages)).text


@pytest.mark.slow
def test_many_dense_pages_are_read_in_time() -> None:
    """A catalogue of sixty pages takes seconds."""
    rows: list[list[Item]] = [
        table(*((f"LL-{p}-{n}", f"{p + n}.50", f"{n}.00") for n in range(35)), y=790) for p in range(60)
    ]
    found = parse_pdf(pdf(*rows))

    assert sum(len(block.text.splitlines()) for block in found.blocks) == 60 * 35
    assert list(chain(found.notes)) == []
