"""The plain text and the notes of a source beside its passages."""

from __future__ import annotations

import pytest

from review.accounts.reading_notes import shown_notes
from tests.support.office_files import cell, docx, paragraph, run, table, xlsx
from worker.adapters import document_process
from worker.adapters.document_process import Names
from worker.documents.model import WARNINGS, DocumentFormat, Note, NoteCode
from worker.documents.notes import note_text, page_ranges


async def shown(data: bytes, kind: DocumentFormat) -> list[str]:
    """The source beside each passage; in brackets what no passage holds, with a slash behind each line."""
    cut = await document_process.cut(data, kind, Names())
    texts = [chunk.text for chunk in cut.chunks]
    found = await document_process.source(data, kind, texts, slice(0, len(texts)))
    return [
        "".join(
            (f"[{each.text.strip()}]" if each.is_left_out else each.text) + "/" * each.ends_line
            for each in beside
        )
        for beside in found
    ]


PAGE = """<html><head><title>No text</title><style>p {}</style></head><body>
<nav><a href=/>Home</a></nav><main>
<h1>Lamps</h1><p>Aurora: <s>EUR 89.00</s> EUR 69.00, with a <b>bulb</b> of forty watts.</p>
<p>A bulb costs € 4<sup>99</sup>.</p>
<table><tr><th>Land<th>Price</tr><tr><td><p>France</p><td>€ 9.90</tr></table>
<p style="display:none">Returns within fourteen days only.</p><p>It hangs from a cord.</p></main></html>"""


async def test_a_page_is_shown_with_what_was_left_out() -> None:
    """Menus, struck prices and hidden sentences stand where they are in the file."""
    (page,) = await shown(f"<meta charset=utf-8>{PAGE}".encode(), DocumentFormat.HTML)

    assert page == (
        "[Home]/Lamps/Aurora: [EUR 89.00] EUR 69.00, with a bulb of forty watts./A bulb costs € 499./"
        "Land | Price/France  | € 9.90/[Returns within fourteen days only.]/It hangs from a cord./"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "See [our shop](https://a.b/c) **now**. ~~Old price 89~~ New one: 69.\n\n<!-- not for sale -->\n",
            "See [our shop](https://a.b/c) **now**. [~~Old price 89~~] New one: 69./<!-- not for sale -->/",
        ),
        ("| Lamp | Price |\n|---|---|\n| Nova | 9<br>8 |\n", "| Lamp | Price |/|---|---|/| Nova | 9<br>8 |/"),
    ],
)
async def test_markdown_is_shown_as_written(text: str, expected: str) -> None:
    """Its markup is not counted as text that is missing."""
    assert await shown(text.encode(), DocumentFormat.MARKDOWN) == [expected]


async def test_a_word_file_is_shown_with_hidden_and_deleted_runs() -> None:
    """Also its tables."""
    deleted = '<w:del><w:r><w:delText xml:space="preserve">in two weeks</w:delText></w:r></w:del>'
    body = paragraph(
        run("Parcels leave "), deleted, run("in two days. "), run("Ask Kim first.", "<w:vanish/>")
    )
    data = docx(body + table(cell("Land") + cell("Price"), cell("France") + cell("9.90")))

    assert await shown(data, DocumentFormat.DOCX) == [
        "Parcels leave [in two weeks]in two days. [Ask Kim first.]/Land | Price/France | 9.90/"
    ]


async def test_a_workbook_is_shown_with_its_stored_numbers_and_hidden_rows() -> None:
    """A number as it is stored counts as read when the passage has it in the cell's form."""

    def fill(_: object, sheet: object) -> None:
        for row in (["Lamp", "Price"], ["Boreal", 62], ["Dealer only", 41.5]):
            sheet.append(row)  # type: ignore[attr-defined]
        sheet["B2"].number_format = '0.00 "EUR"'  # type: ignore[index]
        sheet.row_dimensions[3].hidden = True  # type: ignore[attr-defined]

    assert await shown(xlsx(fill), DocumentFormat.XLSX) == [
        "[Sheet]/Lamp | Price/Boreal | 62/[Dealer only] | [41.5]/"
    ]


async def test_each_passage_has_its_own_part_of_the_source() -> None:
    """Also where sentences repeat: the source is followed in its order."""
    parts = [f"## Lamp {number}\n\n{'It is sent in three days. ' * 12}Ends {number}." for number in range(40)]
    found = await shown("\n\n".join(parts).encode(), DocumentFormat.MARKDOWN)
    cut = await document_process.cut("\n\n".join(parts).encode(), DocumentFormat.MARKDOWN, Names())

    assert len(found) == len(cut.chunks) > 10
    for beside, chunk in zip(found, cut.chunks, strict=True):
        named = [line for line in chunk.text.splitlines() if line.startswith("Lamp ")]
        assert [line for line in beside.split("/") if line.startswith("## ")] == [f"## {n}" for n in named]
    assert "[" not in "".join(found)


@pytest.mark.parametrize("code", NoteCode)
def test_every_note_has_a_sentence_with_its_count(code: NoteCode) -> None:
    """No code is shown as such."""
    note = Note(code=code, count=7, of=9, pages=(1, 2, 4), examples=("an example",))
    stored = {"code": code.value, "count": 7, "of": 9, "pages": [1, 2, 4], "examples": ["an example"]}
    (shown,) = shown_notes([stored])

    assert "7" in shown.text
    assert "7" in note_text(note)
    assert (shown.pages, shown.examples, shown.is_warning) == ("1-2, 4", ("an example",), code in WARNINGS)


@pytest.mark.parametrize(
    ("pages", "text"), [((), ""), ((3,), "3"), ((1, 2, 3), "1-3"), ((1, 3, 4, 9), "1, 3-4, 9")]
)
def test_pages_are_named_as_ranges(pages: tuple[int, ...], text: str) -> None:
    """As people write them."""
    assert page_ranges(pages) == text
