"""Chunking: for any document no text is lost, bounds are kept and offsets are right."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.documents import markdown, readers
from worker.documents.chunking import ChunkBounds, document_chunks
from worker.documents.cleaning import clean_text
from worker.documents.model import Block, Chunk, ParsedDocument, table_block

SMALL = ChunkBounds(most=80, least=20, overlap=25)
SAMPLES = st.sampled_from(
    [
        "Goods may be returned. ",
        "三十天内可以退货。",
        "送料は無料です！",
        "हम नौ बजे खुलते हैं। ",
        "ﷺ",
        "👩‍👩‍👧 ",
        "e\u0301",
        "x" * 90,
        "\n",
        "No. 5 costs 3.50 e.g. today? ",
    ]
)
TEXTS = st.lists(SAMPLES | st.text(max_size=40), min_size=1, max_size=12).map("".join)


@st.composite
def documents(draw: st.DrawFn) -> ParsedDocument:
    """Any document a reader may give."""
    blocks = []
    for text in draw(st.lists(TEXTS, max_size=8)):
        cleaned = clean_text(text).strip()
        if cleaned:
            blocks.append(Block(text=cleaned, level=draw(st.sampled_from([0, 0, 0, 1, 2, 3]))))
    return ParsedDocument(title="", blocks=tuple(blocks))


def width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def covered(found: tuple[Chunk, ...]) -> set[int]:
    return {at for chunk in found for at in range(chunk.start, chunk.end)}


@given(documents())
def test_no_character_but_white_space_is_outside_every_chunk(document: ParsedDocument) -> None:
    """Every character that is not white space is in at least one chunk."""
    lost = set(range(len(document.text))) - covered(document_chunks(document, title="T", bounds=SMALL))

    assert {document.text[at] for at in lost if not document.text[at].isspace()} == set()


@given(documents())
def test_a_chunk_is_the_stretch_of_the_text_that_its_offsets_say(document: ParsedDocument) -> None:
    """Offsets are code points of the document's text, and numbers count from 1."""
    found = document_chunks(document, title="T", bounds=SMALL)

    assert [(c.number, c.text) for c in found] == [
        (number, document.text[c.start : c.end]) for number, c in enumerate(found, 1)
    ]


@given(documents())
def test_no_chunk_is_empty_or_larger_than_the_bound(document: ParsedDocument) -> None:
    """Sizes are between 1 and ``most`` columns."""
    sizes = [width(chunk.text) for chunk in document_chunks(document, title="T", bounds=SMALL)]

    assert all(1 <= size <= SMALL.most for size in sizes)


@given(documents())
def test_chunks_move_on_and_overlap_little(document: ParsedDocument) -> None:
    """Each chunk begins and ends later than the one before, and repeats at most ``overlap`` columns."""
    found = document_chunks(document, title="T", bounds=SMALL)
    pairs = list(itertools.pairwise(found))

    assert all(a.start < b.start and a.end < b.end for a, b in pairs)
    assert all(width(document.text[b.start : a.end]) <= SMALL.overlap for a, b in pairs)


def test_a_long_paragraph_is_cut_between_sentences_and_the_last_one_is_repeated() -> None:
    """The reader of the second chunk sees what its first sentence follows on."""
    text = "First sentence is here. Second one. Third sentence goes on for long. Fourth ends it all now."
    found = document_chunks(
        readers.parse_plain_text(text), title="T", bounds=ChunkBounds(most=70, least=10, overlap=40)
    )

    assert [chunk.text for chunk in found] == [
        "First sentence is here. Second one. Third sentence goes on for long.",
        "Third sentence goes on for long. Fourth ends it all now.",
    ]


def test_chinese_is_cut_after_its_own_full_stop() -> None:
    """Sentence ends of scripts without spaces are known, and a Han character counts two columns."""
    text = "三十天内可以退货。请保留收据原件。没有收据只能换货。"
    found = document_chunks(
        readers.parse_plain_text(text), title="", bounds=ChunkBounds(most=36, least=5, overlap=0)
    )

    assert [chunk.text for chunk in found] == ["三十天内可以退货。请保留收据原件。", "没有收据只能换货。"]


def test_a_chunk_carries_the_headings_it_stands_under() -> None:
    """The title path names the document and the headings in force, the first heading once."""
    text = (
        "# Shop\n\n"
        + "Welcome to the shop. " * 4
        + "\n\n## Returns\n\n### By post\n\n"
        + "Send it back. " * 5
    )
    document = markdown.parse_markdown(text)

    assert [chunk.title for chunk in document_chunks(document, title=document.title, bounds=SMALL)] == [
        "Shop",
        "Shop",
        "Shop › Returns › By post",
        "Shop › Returns › By post",
    ]


@pytest.mark.parametrize("text", ["", "# Only a heading", "#\n\n#"])
def test_a_document_of_next_to_nothing_is_cut_to_next_to_nothing(text: str) -> None:
    """No text makes no chunk, a lone heading makes one."""
    assert len(document_chunks(markdown.parse_markdown(text), title="T")) == (1 if "Only" in text else 0)


def test_a_small_section_is_not_a_chunk_of_its_own() -> None:
    """Sections below ``least`` go together, with their headings in the text."""
    found = document_chunks(markdown.parse_markdown("## A\n\none\n\n## B\n\ntwo"), title="T")

    assert [chunk.text for chunk in found] == ["A\n\none\n\nB\n\ntwo"]


def test_a_question_stays_with_its_answer_and_heads_it() -> None:
    """On a page of questions and answers without headings, a question is never the end of a chunk."""
    text = "\n\n".join(
        f"How does thing number {number} work?\n\n" + "It works like the others. " * 6 for number in range(6)
    )
    found = document_chunks(readers.parse_plain_text(text), title="FAQ", bounds=SMALL)

    assert not any(chunk.text.endswith("?") for chunk in found)
    assert {chunk.title for chunk in found} == {
        f"FAQ › How does thing number {number} work?" for number in range(6)
    }


def test_one_question_in_a_text_heads_nothing() -> None:
    """It is a part of the text, not of a page of questions and answers."""
    text = "Who are we?\n\n" + "We sell bikes. " * 30
    found = document_chunks(readers.parse_plain_text(text), title="About", bounds=SMALL)

    assert {chunk.title for chunk in found} == {"About"}


def test_several_short_answers_have_the_title_of_their_document() -> None:
    """A question is the title of a chunk only if the chunk has no other question."""
    text = "Is there parking?\n\nYes.\n\nAre you open on Sunday?\n\nNo."
    (found,) = document_chunks(readers.parse_plain_text(text), title="FAQ")

    assert (found.title, found.text) == ("FAQ", text)


def price_list(rows: int) -> ParsedDocument:
    """A table of articles below a heading."""
    cells = [("Article", "Name", "Shop price", "Dealer price")]
    cells += [(f"LL-{n}", f"Lamp {n}", f"{n + 100}.00", f"{n + 50}.50") for n in range(rows)]
    return ParsedDocument(title="", blocks=(Block(text="Prices", level=1), table_block(cells, page=3)))


def test_every_chunk_of_a_table_has_whole_rows_below_the_names_of_the_columns() -> None:
    """A number without its name says nothing."""
    found = document_chunks(price_list(120), title="T")
    rows = [line for chunk in found for line in chunk.text.splitlines() if line.startswith("LL-")]

    assert len(found) > 3
    assert rows == [f"LL-{n} | Lamp {n} | {n + 100}.00 | {n + 50}.50" for n in range(120)]
    assert all("Article | Name | Shop price | Dealer price" in chunk.text for chunk in found)
    assert {chunk.page for chunk in found} == {0, 3}
    assert all(width(chunk.text) <= ChunkBounds().most for chunk in found)


@given(
    st.lists(
        st.lists(st.text("ab1 ", min_size=1, max_size=12), min_size=2, max_size=4), min_size=1, max_size=30
    )
)
def test_a_chunk_of_a_table_is_its_stretch_behind_the_head(rows: list[list[str]]) -> None:
    """Offsets are those of the stretch; bounds are kept with the head."""
    cleaned = [[" ".join(text.split()) or "x" for text in row] for row in rows]
    document = ParsedDocument(title="", blocks=(table_block(cleaned, head=1),))
    found = document_chunks(document, title="T", bounds=SMALL)

    assert all(chunk.text.endswith(document.text[chunk.start : chunk.end]) for chunk in found)
    assert all(width(chunk.text) <= SMALL.most for chunk in found)
    assert {at for at, char in enumerate(document.text) if not char.isspace()} <= covered(found)
