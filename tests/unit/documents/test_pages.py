"""Saved pages: prices keep their form, tables their rows; banners, menus and hidden texts are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.documents import html, markdown, saved_page
from worker.documents.model import DocumentFormat, NoteCode
from worker.documents.readers import parse_document
from worker.errors import DocumentRejected

PAGES = Path(__file__).parents[2] / "fixtures" / "pages"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("Bulb: € 4<sup>99</sup> each", "Bulb: € 4.99 each"),
        ("Bulb: 4<sup>99</sup> € each", "Bulb: 4.99 € each"),
        ("Bulb: $4<small>99</small>", "Bulb: $4.99"),
        ("Bulb: CHF 4<sub>50</sub>", "Bulb: CHF 4.50"),
        ("Bulb: € 4,<sup>99</sup>", "Bulb: € 4,99"),
        ("Bulb: 4<sup>€</sup>99", "Bulb: 4€99"),
        ('Bulb: € <span>4</span><span class="price-cents">99</span>', "Bulb: € 4.99"),
        ('Bulb: € 4<span style="vertical-align: super">99</span>', "Bulb: € 4.99"),
        ("within 30<sup>1</sup> days", "within 30 days"),
        ('within 30<sup><a href="#fn1">12</a></sup> days', "within 30 days"),
        ('within 30<a href="#fn1"><sup>1</sup></a> days', "within 30 days"),
        ("The fee is € 5<sup>2</sup> a parcel", "The fee is € 5 a parcel"),
        ("all lamps<sup>1)</sup> and bulbs<sup>*</sup>", "all lamps and bulbs"),
        ("25 m<sup>2</sup> and 3 m<sup>3</sup>", "25 m² and 3 m³"),
        ("10<sup>3</sup> lumens, the 1<sup>st</sup>", "10³ lumens, the 1st"),
        ("H<sub>2</sub>O, CO<sub>2</sub>", "H2O, CO2"),
        ("€ 100 <small>VAT included in all prices</small>", "€ 100 VAT included in all prices"),
        ("<s>€ 89.00</s> <span>€ 69.00</span>", "€ 69.00"),
        ("<del>€ 89</del> <ins>€ 69</ins>, <strike>9</strike> 7", "€ 69, 7"),
        ('<span style="text-decoration: line-through">€ 89</span> € 69', "€ 69"),
        ('<span class="price-was">€ 89</span> <span class="price-now">€ 69</span>', "€ 69"),
        ('<span class="compare-at-price">€ 89</span> € 69', "€ 69"),
        ("9<sup>00</sup>–17<sup>30</sup>", "9:00–17:30"),
        ("€ 4<sup>,99</sup>", "€ 4,99"),
        ("4<sup>99 €</sup>", "4.99 €"),
        ("€ 4 <sup>99</sup>", "€ 4.99"),
        ("4<sup>1/2</sup> inch", "4 1/2 inch"),
        ('<span class="price__int">4</span><span class="price__dec">99</span>', "4.99"),
        ('<span>4</span><span style="position:relative;top:-.5em">99</span> €', "4.99 €"),
        ("4<font size=1>99</font> €", "4.99 €"),
        ("<ruby>日<rp>(</rp><rt>ひ</rt><rp>)</rp></ruby>は休み", "日は休み"),
        ("del&shy;ivery of war\u200branty", "delivery of warranty"),
        (
            "see\U000e0048\U000e0049 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
            "see 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        ),
        ('<span class="was">€ 89</span> € 69', "€ 69"),
        ('<span class="original-price">€ 89</span> € 69', "€ 69"),
        ('<span class="a-text-price" data-a-strike="true">€ 89</span> € 69', "€ 69"),
        ('<span class="streichpreis">€ 89</span> € 69', "€ 69"),
        ('<span class="precio-anterior">€ 89</span> € 69', "€ 69"),
        ('<span class="ancien-prix">€ 89</span> € 69', "€ 69"),
        ('<span class="price-item price-item--regular">€ 89</span> € 69', "€ 69"),
        ("€\u0336 \u03368\u03369\u0336 € 69", "€ 69"),
        ('<u style="text-decoration: red line-through">€ 89</u> € 69', "€ 69"),
        (
            "Orders to <st1:place>Germany</st1:place> take <x-y>three</x-y> days",
            "Orders to Germany take three days",
        ),
        ('seen <span style="display:none">hidden</span>words', "seen words"),
        ('seen <span class="sr-only">hidden</span>words', "seen words"),
        ("seen <span aria-hidden=true>hidden</span>words", "seen words"),
        (
            "<style>.x, #y {color: red; display : none}</style>seen <b class='a x'>hidden</b><i"
            " id=y>h</i>words",
            "seen words",
        ),
        (
            "<style>@media print {.x {display: none}} .y{left:0}</style><b class=x>seen</b> words",
            "seen words",
        ),
    ],
)
def test_a_paragraph_says_what_a_page_shows(markup: str, text: str) -> None:
    """Digits never join other digits, and what nobody sees is not read."""
    page = f"<meta charset=utf-8><body><p>{markup}</p>".encode()

    assert parse_document(page, DocumentFormat.HTML).text == text


SHEET = "<style>.a.b, div > .z {display:none} @media screen {.q {visibility:hidden}}</style>"


@pytest.mark.parametrize(
    "how",
    [
        'style="color:#fff;background:#ffffff"',
        'style="font-size:1px"',
        'style="transform:scale(0)"',
        'style="clip-path:inset(50%)"',
        'style="position:absolute;left:-999px"',
        'style="width:1px;height:1px;overflow:hidden"',
        "popover",
        'style="opacity:.0"',
        'style="color:rgba(0,0,0,0)"',
        'style="font:0/0 a"',
        'style="filter:opacity(0)"',
        'class="invisible"',
        'class="assistive-text"',
        'class="a b"',
        'class="z"',
        'class="q"',
    ],
)
def test_what_a_reader_of_the_page_does_not_see_is_left_out(how: str) -> None:
    """By any of the ways to hide it; the owner sees that it was."""
    found = html.parse_html(f"{SHEET}<body><div>Seen.<p {how}>Old words</p></div>")

    assert found.text == "Seen."
    assert [note.code for note in found.notes] == [NoteCode.HIDDEN]


@pytest.mark.parametrize(
    "how",
    [
        'class="hidden md:block"',
        'class="d-none d-md-block"',
        'class="hidden-xs"',
        'class="hide-on-mobile"',
        'class="md:hidden"',
        'class="mobile-hidden"',
        'class="overflow-hidden"',
        'class="hidden-print"',
        'style="color:white"',
        'style="margin-top:-100px"',
        'class="price--regular"',
    ],
)
def test_what_is_hidden_on_telephones_or_paper_only_is_read(how: str) -> None:
    """Names of classes that hide and show again, and those that only sound so."""
    assert html.parse_html(f"<body><p {how}>€ 89 within thirty days</p>").text == "€ 89 within thirty days"


@pytest.mark.parametrize(
    "how",
    [
        'style="font-size:0.9em;"',
        'style="font-size:.8rem"',
        'style="font-size:12px"',
        'style="filter:opacity(0.9)"',
        'style="left:50%;margin-left:-500px"',
        'style="color:rgb(0,0,0);background:rgb(255,255,255)"',
        'style="color:var(--ink);background-color:var(--paper)"',
        'style="color:inherit;background:inherit"',
        'class="small"',
    ],
)
def test_ordinary_styles_hide_nothing(how: str) -> None:
    """Small letters, places and colours that a reader sees."""
    found = html.parse_html(f"<style>.small {{font-size: 0.9em; color: red}}</style><body><p {how}>In 5 days")

    assert (found.text, found.notes) == ("In 5 days", ())


def test_an_answer_that_opens_is_read_whatever_selector_hides_it() -> None:
    """A selector of several parts hides no more than one of a class."""
    sheet = "<style>.faq .answer, .menu .sub {display:none}</style>"
    page = "<div class=faq><p class=answer>In 5 days</div><div class=menu><p class=sub>Old</div>"

    assert html.parse_html(f"{sheet}<body>{page}").text == "In 5 days"


def test_a_regular_price_beside_other_digits_is_read() -> None:
    """Only another price makes it a former one."""
    page = '<body><p><span class="regular-price">€ 20</span> <b>5 in stock</b>'

    assert html.parse_html(page).text == "€ 20 5 in stock"


@pytest.mark.parametrize(
    "question",
    [
        "<button>Do you ship?</button>",
        '<button class="accordion">Do you ship</button>',
        '<h3><button data-bs-toggle="collapse" data-bs-target="#a">Do you ship</button></h3>',
        '<li><button class="faq__question">Do you ship</button>',
    ],
)
def test_a_button_that_opens_an_answer_is_its_question(question: str) -> None:
    """Other buttons are no content."""
    text = html.parse_html(f'{question}<div id=a class="faq__answer" hidden>In five days.</div>').text

    assert "Do you ship" in text
    assert "In five days." in text
    assert "Buy" not in html.parse_html("<button>Buy now</button><p>Yes.</p>").text


@pytest.mark.parametrize(
    ("markup", "rows"),
    [
        (
            "<div role=table><div role=row><b role=columnheader>Country</b><b role=columnheader>Fee</b></div>"
            "<div role=row><span role=cell>France</span><span role=cell>€ 9.90</span></div></div>",
            ["Country | Fee", "France | € 9.90"],
        ),
        ("<dl><dt>Aurora<dd>€ 69<dt>Nova<dd>€ 99</dl>", ["Aurora | € 69", "Nova | € 99"]),
        (
            "<dl><div><dt>Aurora<dd>€ 69</div><div><dt>Nova<dd>€ 99</div></dl>",
            ["Aurora | € 69", "Nova | € 99"],
        ),
    ],
)
def test_rows_that_are_no_table_elements_are_rows(markup: str, rows: list[str]) -> None:
    """Tables by their role, and lists of short values."""
    (block,) = html.parse_html(f"<body>{markup}").blocks

    assert block.is_table
    assert block.text.splitlines() == rows


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<dl><dt>Old<dd hidden>€ 9<dt>New<dd>€ 7</dl>", "New | € 7"),
        ("<dl><div hidden><dt>Old<dd>€ 9</div><div><dt>New<dd>€ 7</div></dl>", "New | € 7"),
        (
            "<div role=table><div role=rowgroup hidden><div role=row><b role=cell>Old</b><b role=cell>9</b>"
            "</div></div><div role=row><b role=cell>New</b><b role=cell>7</b></div></div>",
            "New | 7",
        ),
        (
            "<div role=table><p>With VAT.</p><div role=row><b role=cell>New</b> <b role=cell>7</b></div>",
            "With VAT.\n\nNew 7",
        ),
    ],
)
def test_rows_by_role_and_pairs_lose_and_show_nothing_else(markup: str, text: str) -> None:
    """Hidden ones are left out; a text beside the cells is read."""
    assert html.parse_html(f"<body>{markup}").text == text


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (
            "<tr><td><p>Country</p><td><p>Fee</p><tr><td><p>France</p><td><div>€ 9</div>"
            "<tr><td><ul><li>Spain<li>Portugal</ul><td>€ 12<br>€ 10 from two",
            ["Country | Fee", "France | € 9", "Spain Portugal | € 12 € 10 from two"],
        ),
        (
            "<tr><th>Day<th>Morning<th>Afternoon<tr><td>Mon<td rowspan=2>9-12<td>13-18<tr><td>Tue<td>14-20"
            "<tr><td>Sun<td colspan=2>closed",
            ["Day | Morning | Afternoon", "Mon | 9-12 | 13-18", "Tue | 9-12 | 14-20", "Sun | closed |"],
        ),
        (
            "<thead><tr><th rowspan=2>Article<th colspan=2>Price<tr><th>shop<th>dealer</thead>"
            "<tr><td>Z103<td>329<td>221.50",
            ["Article | Price | Price", "Article | shop | dealer", "Z103 | 329 | 221.50"],
        ),
        (
            "<tr><th>Lamp<th>alone<th>with bulb<tr><td>Boreal<td><td>€ 62<tr><td>Nova<td>€ 50<td>",
            ["Lamp | alone | with bulb", "Boreal |  | € 62", "Nova | € 50 |"],
        ),
        (
            "<tr><th>A<th>B<tr style='display:none'><td>old<td>1<tr><td>Lamp<td><s>€ 9</s> € 4<sup>99</sup>",
            ["A | B", "Lamp | € 4.99"],
        ),
        ("<tr><td>a<td rowspan=0>b<tr><td>c<tr><td>d", ["a | b", "c | b", "d | b"]),
    ],
)
def test_a_table_keeps_its_rows(table: str, rows: list[str]) -> None:
    """Every value stands in its row and under its column's name."""
    (block,) = html.parse_html(f"<body><table>{table}</table>").blocks

    assert block.is_table
    assert block.text.splitlines() == rows


def test_tables_that_arrange_a_page_are_its_paragraphs() -> None:
    """They hold headings or prose."""
    found = html.parse_html(
        f"<table><tr><td><h2>Hours</h2><p>Open at nine.<p>Closed at six.<td>{'<p>Long text. ' * 90}"
    )

    assert [block.text for block in found.blocks[:3]] == ["Hours", "Open at nine.", "Closed at six."]


@pytest.mark.parametrize(
    ("name", "kept", "left_out"),
    [
        (
            "shopify",
            ["two days", "€ 7.50", "Express: € 12"],
            ["ten percent", "Catalog", "Powered", "€ 45", "Zeta", "Skip to"],
        ),
        (
            "woo",
            ["three years", "€ 18.00", "Warranty"],
            ["€ 20.00", "Hello", "Storefront", "Cookies", "0 items", "Close"],
        ),
        ("magento", ["9 to 18", "€ 79"], ["€ 99", "welcome msg", "Women", "cookies", "Magento"]),
        (
            "zendesk",
            ["45 days", "France | € 9.90"],
            ["helpful", "Powered", "Related", "Sign in", "Change address"],
        ),
        ("wix", ["ship abroad", "€ 15", "pay by card", "Visa and Mastercard"], ["2035"]),
        ("elementor", ["zwei Tagen", "Ab 50 €", "Wie teuer"], ["Produkte", "Impressum", "anmelden"]),
        ("confluence", ["A | € 3", "New fee"], ["Old fee", "generated by"]),
        ("notion", ["dry cloth", "unplug", "Ten minutes", "Shade | 12 €", "Care", "Kept words"], []),
        ("gdocs", ["€ 25", "4.99"], ["€ 30"]),
        ("word", ["Orders to Germany take", "Fee: 5", "A | 3 EUR"], ["Hidden remark"]),
        ("plain", ["from $20", "Socket | $15"], []),
        (
            "banner",
            ["within thirty days", "free from € 50", "Aurora | € 69.00", "Bulb | € 4.99"],
            [
                "cookies",
                "Accept",
                "SPRING",
                "Gift cards",
                "fourteen",
                "nine euros",
                "Borealis",
                "email",
                "cart",
                "Imprint",
            ],
        ),
    ],
)
def test_a_shop_page_is_its_content(name: str, kept: list[str], left_out: list[str]) -> None:
    """In the markup of common systems."""
    text = html.parse_html((PAGES / f"{name}.html").read_text(encoding="utf-8")).text

    assert [words for words in kept if words not in text] == []
    assert [words for words in left_out if words in text] == []


def test_what_was_left_out_is_named() -> None:
    """With the beginnings of the texts, so that the owner sees a mistake."""
    found = {note.code: note for note in html.parse_html((PAGES / "banner.html").read_text()).notes}

    assert found[NoteCode.STRUCK].examples == ("€ 89.00",)
    assert "Returns within fourteen days only (old text, do not use)" in found[NoteCode.HIDDEN].examples
    assert found[NoteCode.PAGE_PARTS].count > 3


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Bulb: € 4<sup>99</sup> each", "Bulb: € 4.99 each"),
        ("~~€ 89~~ € 69 <del>9</del>", "€ 69"),
        (
            "| a | b |\n|---|---|\n| Lamp | € 6.90<br>€ 4.90 from two |",
            "a | b\nLamp | € 6.90 € 4.90 from two",
        ),
        ("| a | b |\n|---|---|\n| Lamp | |\n| Bulb | ~~9~~ 7 |", "a | b\nLamp |\nBulb | 7"),
        ("Bulb: € 4^99^ each, H~2~O", "Bulb: € 4.99 each, H2O"),
        ("within 30[^1] days\n\n[^1]: only lamps", "within 30 days\n\nonly lamps"),
        ("~€ 89~ € 69, ~~€ 9~~ € 8", "€ 69, € 8"),
        ("from ~5 to ~9 days, 4^2 and `a~b~c`", "from ~5 to ~9 days, 4^2 and a~b~c"),
        ("+++\ntitle = 'Hours'\n+++\nOpen.", "Open."),
    ],
)
def test_markdown_with_tags_says_what_a_page_shows(source: str, text: str) -> None:
    """The same rules hold as for HTML."""
    assert markdown.parse_markdown(source).text == text


MHTML = (
    b"From: <Saved by Blink>\r\nSubject: Returns\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/related; type="text/html"; boundary="B"\r\n\r\n'
    b"--B\r\nContent-Type: text/html%s\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    b"<html><head><title>Returns</title></head><body><p>The fee is =E2=82=AC 5 a parcel.</p>"
    b"<p class=3D'old'>Old text</p></body></html>\r\n"
    b"--B\r\nContent-Type: text/css\r\n\r\n.old { display: none }\r\n--B--\r\n"
)


@pytest.mark.parametrize("charset", [b"", b"; charset=utf-8"])
def test_a_page_saved_as_one_file_is_read(charset: bytes) -> None:
    """Its style sheets say what it hides."""
    found = saved_page.parse_mhtml(MHTML % charset)

    assert (found.title, found.text) == ("Returns", "The fee is € 5 a parcel.")


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"MIME-Version: 1.0\r\n\r\nhello", "holds no page"), (MHTML % b"; charset=ascii", "is not ascii")],
)
def test_a_saved_file_without_a_page_is_refused(data: bytes, reason: str) -> None:
    """The reason is said."""
    with pytest.raises(DocumentRejected, match=reason):
        saved_page.parse_mhtml(data)


@pytest.mark.parametrize(
    "text",
    [
        "The bulb costs € 4 99 each, and the lamp costs € 49.00 in our shop in Berlin, VAT included.",
        "| Lamp | Price |\n|---|---|\n"
        + "".join(f"| L{n} | € {n + 40}.00 |\n" for n in range(6))
        + "| Bulb | € 499 |",
        "| Lamp | Price |\n|---|---|\n"
        + "".join(f"| L{n} | € {n + 4}.00 |\n" for n in range(6))
        + "| Bulb | € 499.00 |",
    ],
)
def test_odd_prices_are_named(text: str) -> None:
    """Split digits, and prices unlike the others of their column."""
    codes = [note.code for note in parse_document(text.encode(), DocumentFormat.MARKDOWN).notes]

    assert codes == [NoteCode.ODD_PRICES]


def test_letters_of_a_wrong_encoding_are_named() -> None:
    """A file that says Latin-1 and holds UTF-8, say."""
    text = "Die Lampe kostet 5 € und hält für Jahre, auch in größeren Räumen und bei täglichem Gebrauch."
    data = b"<meta charset=windows-1252><p>" + text.encode()
    (note,) = parse_document(data, DocumentFormat.HTML).notes

    assert (note.code, note.count) == (NoteCode.WRONG_ENCODING, 6)
    assert parse_document(text.encode(), DocumentFormat.MARKDOWN).notes == ()


def test_a_page_with_next_to_no_text_is_named() -> None:
    """Such as one that a program fills in the browser."""
    found = parse_document(b"<html><body><p>Please enable JavaScript.</p>", DocumentFormat.HTML)

    assert [note.code for note in found.notes] == [NoteCode.LITTLE_TEXT]
