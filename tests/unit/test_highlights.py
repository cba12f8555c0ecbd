"""Findings are highlighted, and the text is unchanged."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.decision.highlights import (
    highlighted_html,
    span_place,
)
from review.marked_text import MarkedRun, marked_runs

TAG = re.compile(r"<[^>]*>")
AWKWARD = st.sampled_from(
    (
        "e\u0301",
        "\u200d",
        "\u200b",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f44d\U0001f3fd",
        "\U0001f1e9\U0001f1ea",
        "\U0001f1eb",
        "שלום",
        "مرحبا",
        "\u202e",
        "\n",
        "<b>",
        "&amp;",
        '"',
        "漢",
        "\r\n",
    )
)
TEXTS = st.lists(AWKWARD | st.text(max_size=3), max_size=20).map("".join)
SPANS = st.lists(st.tuples(st.integers(-2, 70), st.integers(-2, 70)), max_size=8).map(
    lambda spans: dict(enumerate(spans, 1))
)


@given(TEXTS, SPANS)
def test_joined_runs_are_the_text(text: str, spans: dict[int, tuple[int, int]]) -> None:
    """With any spans: reversed, empty, beyond the end."""
    found = marked_runs(text, spans)

    assert text == "".join(piece.text for piece in found)
    assert all(piece.text for piece in found)


@given(TEXTS, SPANS)
def test_every_code_point_of_a_span_is_highlighted_with_its_number(
    text: str, spans: dict[int, tuple[int, int]]
) -> None:
    """Offsets are code points; a mark may be wider, to keep a character whole, never narrower."""
    at = [piece.numbers for piece in marked_runs(text, spans) for _ in piece.text]

    for number, (start, end) in spans.items():
        assert all(number in at[each] for each in range(max(start, 0), min(end, len(text))))


@given(TEXTS, SPANS)
def test_every_visible_span_ends_once(text: str, spans: dict[int, tuple[int, int]]) -> None:
    """Its number is at its end only."""
    ended = [number for piece in marked_runs(text, spans) for number in piece.ends]
    seen = [n for n, (start, end) in spans.items() if max(start, 0) < min(end, len(text))]

    assert sorted(ended) == seen


@given(TEXTS, SPANS)
def test_the_page_shows_the_text_and_nothing_else(text: str, spans: dict[int, tuple[int, int]]) -> None:
    """No tag of an author survives, and what is copied is what was written."""
    shown = str(highlighted_html(text, spans))

    assert html.unescape(TAG.sub("", shown)) == text
    assert {tag.split()[0].strip("</>") for tag in TAG.findall(shown)} <= {"mark", "span"}


def test_overlapping_and_touching_spans_keep_their_numbers() -> None:
    """Two over one stretch, two side by side."""
    found = marked_runs("abcdefgh", {1: (0, 4), 2: (2, 6), 3: (6, 8)})

    assert found == (
        MarkedRun(text="ab", numbers=(1,)),
        MarkedRun(text="cd", numbers=(1, 2), ends=(1,)),
        MarkedRun(text="ef", numbers=(2,), ends=(2,)),
        MarkedRun(text="gh", numbers=(3,), ends=(3,)),
    )


@pytest.mark.parametrize(
    ("text", "span", "marked_text"),
    [
        ("cafe\u0301!", (3, 4), "e\u0301"),
        ("cafe\u0301!", (4, 5), "e\u0301"),
        ("a\U0001f468\u200d\U0001f469b", (1, 2), "\U0001f468\u200d\U0001f469"),
        ("\U0001f44d\U0001f3fd", (0, 1), "\U0001f44d\U0001f3fd"),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", (2, 3), "\U0001f1eb\U0001f1f7"),
        ("\u1112\u1161\u11ab\u1100", (1, 2), "\u1112\u1161\u11ab"),
        ("s\u200bp", (0, 3), "s\u200bp"),
        ("שלום עולם", (5, 9), "עולם"),
        ("one\r\ntwo", (0, 4), "one\r\n"),
    ],
)
def test_a_character_is_never_cut_in_two(text: str, span: tuple[int, int], marked_text: str) -> None:
    """Accents, families, skin tones, flags and Hangul syllables are marked whole."""
    assert marked_text == "".join(piece.text for piece in marked_runs(text, {1: span}) if piece.numbers)


def test_an_invisible_character_in_a_highlight_shows_its_code() -> None:
    """A reader sees why the word matched although it looks split or plain."""
    assert 'data-code="U+200B"' in highlighted_html("sp\u200bam", {1: (0, 5)})
    assert "data-code" not in highlighted_html("sp\u200bam", {1: (0, 1)})


@pytest.mark.parametrize(
    ("span", "words"),
    [
        ((0, 3), "characters 1 to 3"),
        ((2, 3), "character 3"),
        ((3, 9), "characters 4 to 9, partly beyond the stored part"),
        ((5, 9), "characters 6 to 9, beyond the stored part"),
    ],
)
def test_the_legend_says_where(span: tuple[int, int], words: str) -> None:
    """Counted as people count, from one; the stored text may end before the match."""
    assert span_place("abcde", span) == words


def test_direction_controls_show_their_code_everywhere() -> None:
    """Without a finding, yet the text is displayed in another order than it has."""
    assert 'data-code="U+202E"' in highlighted_html("pay \u202eyadot", {})
    assert str(highlighted_html("pay today", {})) == "pay today"
