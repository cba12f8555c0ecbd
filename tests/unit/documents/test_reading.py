"""Readers: what each format's text is, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.documents import html, markdown, pdf, plain, reading
from worker.documents.cleaning import clean
from worker.documents.model import Block, Format
from worker.errors import DocumentRejected

FILES = Path(__file__).parents[2] / "fixtures" / "documents"


def test_markdown_becomes_text_without_its_marks() -> None:
    """Headings, paragraphs, items, tables and listings are blocks; links and emphasis leave their text."""
    text = (
        "---\ntitle: 'Shop handbook'\n---\n# Start\nSome *good* [advice](https://x.test), `code`\n"
        "over lines.\n\n"
        "1. one\n2. two\n\n   more\n\n| a | b |\n|---|---|\n| 1 | **2** |\n\n```py\nx = 1\n\ny = 2\n```\n"
        "<div>raw <b>html</b></div>\n"
    )
    found = markdown.parsed(text)

    assert found.title == "Shop handbook"
    assert found.blocks == (
        Block(text="Start", level=1),
        Block(text="Some good advice, code\nover lines."),
        Block(text="1. one"),
        Block(text="2. two"),
        Block(text="more"),
        Block(text="a | b\n1 | 2"),
        Block(text="x = 1\n\ny = 2"),
        Block(text="raw html"),
    )


def test_html_is_what_a_reader_reads() -> None:
    """Scripts, menus and hidden parts are left out; tables keep their cells apart; pre keeps its lines."""
    text = (
        "<title>Our\n hours</title><nav>menu</nav><script>alert(1)</script><main><h2>Open<br>now</h2>"
        "We <b>open</b> at\n nine<p hidden>secret<p>Next<ul><li>a<li>b <i>c</i></ul>"
        "<table><tr><th>k<th>v<tr><td>1<td>2</table><pre>  x\n    y</pre><img alt='A map'></main><footer>f"
    )
    found = html.parsed(text)

    assert found.title == "Our hours"
    assert found.blocks == (
        Block(text="Open now", level=2),
        Block(text="We open at nine"),
        Block(text="Next"),
        Block(text="- a"),
        Block(text="- b c"),
        Block(text="k | v\n1 | 2"),
        Block(text="  x\n    y"),
        Block(text="A map"),
    )


def test_html_nested_without_end_is_read() -> None:
    """Depth is no reason to fall over."""
    assert html.parsed("<div>" * 100_000 + "deep").blocks == (Block(text="deep"),)


def test_markdown_nested_without_end_is_read() -> None:
    """Forty quotations inside each other are read; five thousand are dropped, not fallen over."""
    assert markdown.parsed("> " * 38 + "deep").text == "deep"
    assert markdown.parsed("> " * 5_000 + "deep").text == ""


def test_plain_text_is_parted_by_blank_lines() -> None:
    """Lines of a paragraph stay lines."""
    assert plain.parsed("one\r\ntwo\r\n \r\nthree").blocks == (Block(text="one\ntwo"), Block(text="three"))


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_cleaned_text_can_be_stored(text: str) -> None:
    """No NUL and no lone surrogate is left, so that it can be encoded, and cleaning again changes nothing."""
    cleaned = clean(text)

    assert "\0" not in cleaned.encode().decode()
    assert clean(cleaned) == cleaned


@given(st.binary(max_size=300), st.sampled_from([Format.HTML, Format.MARKDOWN, Format.TEXT]))
def test_any_bytes_are_read_or_refused(data: bytes, kind: Format) -> None:
    """Nothing but a refusal ever rises, and what is read has text."""
    try:
        found = reading.parsed(data, kind)
    except DocumentRejected:
        return

    assert all(block.text.strip() for block in found.blocks)
    assert found.blocks


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        ("naïve".encode("utf-16"), Format.TEXT, "naïve"),
        ("\ufeffnaïve".encode(), Format.TEXT, "naïve"),
        (b"<meta charset=windows-1252><p>na\xefve", Format.HTML, "naïve"),
        ("<p>naïve".encode(), Format.HTML, "naïve"),
    ],
)
def test_encodings_that_are_declared_are_obeyed(data: bytes, kind: Format, expected: str) -> None:
    """A byte order mark or HTML's own word decides; UTF-8 without either."""
    assert reading.parsed(data, kind).text == expected


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (b"na\xefve", Format.TEXT, "is not utf-8"),
        (b"<meta charset=klingon><p>x", Format.HTML, "names an unknown encoding: klingon"),
        (b" \n", Format.MARKDOWN, "holds no text"),
        (b"<nav>menu</nav>", Format.HTML, "holds no text"),
        (b"\0\0", Format.TEXT, "holds no text"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(data: bytes, kind: Format, reason: str) -> None:
    """Encodings are never guessed."""
    with pytest.raises(DocumentRejected, match=reason):
        reading.parsed(data, kind)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.MD", b"", Format.MARKDOWN),
        ("a.htm", b"", Format.HTML),
        ("a.pdf", b"", Format.PDF),
        ("a.docx", b"", None),
        ("", b"%PDF-1.7", Format.PDF),
        ("", b"\n<!-- x --> <!DOCTYPE html>", Format.HTML),
        ("", b"plain", Format.MARKDOWN),
    ],
)
def test_the_format_is_known_by_name_or_by_first_bytes(
    name: str, data: bytes, expected: Format | None
) -> None:
    """An ending decides; a pipe is looked into."""
    assert reading.format_of(name, data) is expected


def test_a_pdf_gives_title_and_paragraphs() -> None:
    """Lines that the page's width broke are joined again."""
    found = pdf.parsed((FILES / "handbook.pdf").read_bytes())

    assert found.title == "Customer handbook"
    assert "within thirty days of delivery. Keep the receipt, because without it we can only" in found.text
    assert found.text.endswith("Parcels leave our warehouse within two working days.")


def test_a_chinese_pdf_is_joined_without_blanks() -> None:
    """A line break between Han characters stood for nothing."""
    found = pdf.parsed((FILES / "chinese.pdf").read_bytes())

    assert (
        found.text
        == "商品签收之后三十天内可以申请退货，请保留收据原件，没有收据的商品只能更换同等价格的其他商品。"
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ((FILES / "locked.pdf").read_bytes(), "is locked by a password"),
        ((FILES / "scan.pdf").read_bytes(), "holds no text, so it is a scan"),
        ((FILES / "handbook.pdf").read_bytes()[:600], "is damaged or no PDF"),
        (b"hello", "is damaged or no PDF"),
        (b"", "is damaged or no PDF"),
    ],
)
def test_a_pdf_that_cannot_be_read_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    """Each kind of trouble has a sentence of its own."""
    with pytest.raises(DocumentRejected, match=reason):
        pdf.parsed(data)


def test_a_hyphen_that_only_the_line_end_made_is_taken_out() -> None:
    """PDFium marks it, in either of two ways."""
    assert pdf.paragraphs("The ware\x02\r\nhouse and ship\ufffe\nping.") == ["The warehouse and shipping."]
