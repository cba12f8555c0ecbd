"""Readers: what each format's text is, and what is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.documents import html, markdown, pdf, readers, reading
from worker.documents.cleaning import clean_text
from worker.documents.model import Block, DocumentFormat, ParsedDocument
from worker.documents.readers import parse_document
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
    found = markdown.parse_markdown(text)

    assert found.title == "Shop handbook"
    assert found.blocks == (
        Block(text="Start", level=1),
        Block(text="Some good advice, code\nover lines."),
        Block(text="1. one"),
        Block(text="2. two"),
        Block(text="more"),
        Block(text="a | b\n1 | 2", is_table=True, head=6),
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
    found = html.parse_html(text)

    assert found.title == "Our hours"
    assert found.blocks == (
        Block(text="Open now", level=2),
        Block(text="We open at nine"),
        Block(text="Next"),
        Block(text="- a"),
        Block(text="- b c"),
        Block(text="k | v\n1 | 2", is_table=True, head=6),
        Block(text="  x\n    y"),
        Block(text="A map"),
    )


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("<div>" * 512 + "deep", 1),
        ("<ul>" + "<li>x" * 2_000 + "</ul>", 2_000),
        ("<p>x<br><img>" * 2_000, 2_000),
        ("<div><b>x</b></div>" * 2_000, 2_000),
        ("<p " + "a " * 255 + "z>x", 1),
        (f"<p title='{'a ' * 5_000}'>x", 1),
        (f"<!-- {'<div>' * 600} --><script>{'<a ' * 600}</script><style>{'<b>' * 600}</style><p>x", 1),
    ],
)
def test_html_within_the_limits_is_read(text: str, blocks: int) -> None:
    """Items without end tags, void elements, comments and scripts do not count as depth."""
    assert len(html.parse_html(text).blocks) == blocks


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<p " + " ".join(f"a{n}" for n in range(50_000)) + ">x", "more than 256 attributes .*limit is 256"),
        ("<p " + " ".join(f"a{n}='>'" for n in range(50_000)) + ">x", "more than 256 attributes"),
        ("<p" + "".join(f"/a{n}" for n in range(50_000)), "more than 256 attributes"),
        ("<p>x</p " + "b " * 50_000 + ">", "more than 256 attributes"),
        ("<div>" * 200_000 + "x", "more than 512 elements inside each other.*limit is 512"),
        ("<div></b>" * 100_000 + "x", "more than 512 elements inside each other"),
        ("<table><td>" * 100_000 + "x", "more than 512 elements inside each other"),
    ],
)
def test_html_that_takes_the_square_of_its_length_is_refused(text: str, reason: str) -> None:
    """The refusal says what came and what the limit is, within a second."""
    began = process_time()
    with pytest.raises(DocumentRejected, match=reason):
        html.parse_html(text)

    assert process_time() - began < 1


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (markdown.parse_markdown, "[" * 8_000),
        (markdown.parse_markdown, "![[" * 3_000),
        (markdown.parse_markdown, "[a" * 5_000),
        (markdown.parse_markdown, "a <![CDATA[" * 3_000),
        (markdown.parse_markdown, "---\ntitle: a" + " " * 100_000 + "b\n---\nx"),
        (readers.parse_plain_text, "a" + "\u0316\u0301" * 50_000),
        (html.parse_html, "<style>" + "a" * 100_000 + "</style><p>x"),
        (html.parse_html, "<style>" + "/*" * 50_000 + "@media{" * 20_000 + "</style><p>x"),
        (html.parse_html, "<title>" + "_" * 100_000 + " x</title><p>x"),
        (html.parse_html, "<h1>漢" + "\u3000\n" * 50_000 + "x</h1>"),
        *(
            (html.parse_html, f"<p style='{each * 20_000}'>x<style>{each * 20_000}</style>")
            for each in (
                "width:1px;",
                "position:relative ",
                "filter:",
                "transform:",
                "@supports ",
                "opacity:0 ",
            )
        ),
        (
            html.parse_html,
            "<style>" + "a b c > d .e{display:none}" * 5_000 + "</style>" + "<p class=e>x" * 5_000,
        ),
        (html.parse_html, "<dl>" + "<dt>a<dd>b" * 20_000),
        (html.parse_html, "<div role=table>" + "<div role=row><b role=cell>x</b></div>" * 10_000),
        (html.parse_html, "<p>" + "<span class=old-price>1</span>" * 10_000),
        (html.parse_html, "<p>" + "<span class=regular-price>1</span>" * 10_000),
        (html.parse_html, "x\u0336" * 50_000),
        (markdown.parse_markdown, "~a " * 20_000),
        (markdown.parse_markdown, "a^b" * 8_000),
        (markdown.parse_markdown, "a[^b" * 20_000),
    ],
)
def test_a_reader_takes_no_square_of_the_length(read: Callable[[str], ParsedDocument], text: str) -> None:
    """Four times the text takes less than eight times as long, or less than a second."""
    spent = []
    for part in (text[: len(text) // 4], text):
        began = process_time()
        read(part)
        spent.append(process_time() - began)

    assert spent[1] < max(1, 8 * spent[0])


def test_the_format_of_comments_without_end_is_known_at_once() -> None:
    """A file without an ending is looked into, in time that grows with its length."""
    assert reading.document_format("", b"<!---->" * 500 + b"x") is DocumentFormat.MARKDOWN
    assert reading.document_format("", b"<!-- --> " * 50 + b"<html>") is DocumentFormat.HTML


def test_markdown_nested_without_end_is_read() -> None:
    """Nineteen quotations inside each other are read; five thousand are dropped."""
    assert markdown.parse_markdown("> " * 19 + "deep").text == "deep"
    assert markdown.parse_markdown("> " * 5_000 + "deep").text == ""


def test_a_long_paragraph_keeps_every_word() -> None:
    """Links are looked for in stretches; no word is cut or lost where two stretches meet."""
    words = [f"word{number}" for number in range(3_000)]

    assert markdown.parse_markdown(" ".join(words) + " [a](b)").text.split() == [*words, "a"]


def test_plain_text_is_parted_by_blank_lines() -> None:
    """Lines of a paragraph stay lines."""
    assert readers.parse_plain_text("one\r\ntwo\r\n \r\nthree").blocks == (
        Block(text="one\ntwo"),
        Block(text="three"),
    )


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_cleaned_text_can_be_stored(text: str) -> None:
    """No NUL and no lone surrogate is left, so that it can be encoded, and cleaning again changes nothing."""
    cleaned = clean_text(text)

    assert "\0" not in cleaned.encode().decode()
    assert clean_text(cleaned) == cleaned


@given(
    st.binary(max_size=300),
    st.sampled_from([DocumentFormat.HTML, DocumentFormat.MARKDOWN, DocumentFormat.TEXT]),
)
def test_any_bytes_are_read_or_refused(data: bytes, kind: DocumentFormat) -> None:
    """Only DocumentRejected is raised, and a parsed document has text."""
    try:
        found = parse_document(data, kind)
    except DocumentRejected:
        return

    assert all(block.text.strip() for block in found.blocks)
    assert found.blocks


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        ("naïve".encode("utf-16"), DocumentFormat.TEXT, "naïve"),
        ("\ufeffnaïve".encode(), DocumentFormat.TEXT, "naïve"),
        (b"<meta charset=windows-1252><p>na\xefve", DocumentFormat.HTML, "naïve"),
        ("<p>naïve".encode(), DocumentFormat.HTML, "naïve"),
        (b"<meta charset=iso-8859-1><p>We don\x92t: 5 \x80", DocumentFormat.HTML, "We don’t: 5 €"),
        (b"<meta charset=latin1><p>\x93x\x94 \x81\x96 y", DocumentFormat.HTML, "“x” – y"),
        ("<meta charset=gb2312><p>镕价".encode("gbk"), DocumentFormat.HTML, "镕价"),
        ("<meta charset=shift_jis><p>①髙".encode("cp932"), DocumentFormat.HTML, "①髙"),
        ("<meta charset=euc-kr><p>뷁".encode("cp949"), DocumentFormat.HTML, "뷁"),
        (b"<meta charset=iso-8859-9><p>\x80 \xf0", DocumentFormat.HTML, "€ ğ"),
        (b"<meta charset=utf-16><p>Price", DocumentFormat.HTML, "Price"),
    ],
)
def test_encodings_that_are_declared_are_obeyed(data: bytes, kind: DocumentFormat, expected: str) -> None:
    """A byte order mark or HTML's declared charset decides; UTF-8 without either."""
    assert parse_document(data, kind).text == expected


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (b"na\xefve", DocumentFormat.TEXT, "is not utf-8"),
        (b"<meta charset=klingon><p>x", DocumentFormat.HTML, "names an unknown encoding: klingon"),
        (b" \n", DocumentFormat.MARKDOWN, "holds no text"),
        (b"<nav>menu</nav>", DocumentFormat.HTML, "holds no text"),
        (b"\0\0", DocumentFormat.TEXT, "holds no text"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(
    data: bytes, kind: DocumentFormat, reason: str
) -> None:
    """Encodings are never guessed."""
    with pytest.raises(DocumentRejected, match=reason):
        parse_document(data, kind)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.MD", b"", DocumentFormat.MARKDOWN),
        ("a.htm", b"", DocumentFormat.HTML),
        ("a.pdf", b"", DocumentFormat.PDF),
        ("a.odt", b"", None),
        ("", b"%PDF-1.7", DocumentFormat.PDF),
        ("", b"\n<!-- x --> <!DOCTYPE html>", DocumentFormat.HTML),
        ("", b"plain", DocumentFormat.MARKDOWN),
    ],
)
def test_the_format_is_known_by_name_or_by_first_bytes(
    name: str, data: bytes, expected: DocumentFormat | None
) -> None:
    """An ending decides; a pipe is looked into."""
    assert reading.document_format(name, data) is expected


def test_a_pdf_gives_title_and_paragraphs() -> None:
    """Lines that the page's width broke are joined again."""
    found = pdf.parse_pdf((FILES / "handbook.pdf").read_bytes())

    assert found.title == "Customer handbook"
    assert "within thirty days of delivery. Keep the receipt, because without it we can only" in found.text
    assert found.text.endswith("Parcels leave our warehouse within two working days.")


def test_a_chinese_pdf_is_joined_without_blanks() -> None:
    """A line break between Han characters leaves no space."""
    found = pdf.parse_pdf((FILES / "chinese.pdf").read_bytes())

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
        pdf.parse_pdf(data)
