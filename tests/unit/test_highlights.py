"""The texts on a decision's page: findings highlighted, passages with the sentences that a draft repeats."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.decision.grounds import ShownPassage, grounds_of
from review.decision.highlights import (
    highlighted_html,
    span_place,
)
from review.decision.margins import Margin
from review.decision.measure_bars import measure_bars
from review.http.templating import with_direction_codes
from review.marked_text import MarkedRun, marked_runs
from worker.snapshot import SnapshotAssessment

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
    assert {tag.split()[0].strip("</>") for tag in TAG.findall(shown)} <= {"mark", "bdi"}


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
    shown = '<bdi class="invisible" data-code="U+202E">\u202e</bdi>'
    kept = '<a title="\u202ex">', "<title>\u202ex</title>", "<option>\u202ex</option>", shown

    assert with_direction_codes("<p>pay \u202eyadot</p>") == f"<p>pay {shown}yadot</p>"
    assert [with_direction_codes(each) for each in kept] == list(kept)


HOURS = "The shop was founded in 1999. We are open from nine to six on weekdays. Parking is free."
RETURNS = "You can return goods within thirty days. Keep the receipt."


def shown(*texts: str | None) -> tuple[ShownPassage, ...]:
    """Passages with these texts, numbered from 1."""
    return tuple(
        ShownPassage(number=number, passage_id=f"{number}#1", title=f"Document {number}", text=text)
        for number, text in enumerate(texts, 1)
    )


def test_the_cited_sentence_is_marked_inside_its_passage() -> None:
    """Only in the passage whose number the draft names, and only that sentence."""
    found = grounds_of("We are open from nine to six on weekdays [1].", shown(HOURS, RETURNS), verbatim=False)

    assert [each.passage.number for each in found.cited] == [1]
    assert found.cited[0].html == (
        'The shop was founded in 1999. <mark class="cited">We are open from nine to six on weekdays.</mark>'
        " Parking is free."
    )
    assert [(each.passage.number, each.matched) for each in found.others] == [(2, False)]
    assert found.numbered


def test_a_page_compares_a_limited_number_of_sentences() -> None:
    """Passages behind the limit are shown without marks: a page of a long check took 16 s."""
    long = "".join(f"Lamp {number} has a green shade. " for number in range(1000))
    found = grounds_of(long, shown(long, HOURS, long), verbatim=True)

    assert [each.matched for each in (*found.cited, *found.others)] == [True, False, False]
    assert [TAG.sub("", each.html or "") for each in found.others] == [HOURS, long]


def test_a_draft_without_numbers_rests_on_what_it_repeats() -> None:
    """Designs without citations get the passages whose sentences are closest."""
    found = grounds_of("Keep the receipt of your goods.", shown(HOURS, RETURNS), verbatim=True)

    assert [each.passage.number for each in found.cited] == [2]
    assert "<mark" in str(found.cited[0].html)
    assert not found.numbered


def test_nothing_is_marked_that_the_draft_does_not_say() -> None:
    """A cited passage without a common word stays plain; a deleted one has no text; markup is escaped."""
    found = grounds_of(
        "Elephants sleep [1]. They dream [2].",
        shown("<b>x</b> Parking is free.", None),
        verbatim=False,
    )

    assert [each.matched for each in found.cited] == [False, False]
    assert found.cited[0].html == "&lt;b&gt;x&lt;/b&gt; Parking is free."
    assert found.cited[1].html is None


def test_two_bars_say_what_decided() -> None:
    """Support and relevance of a draft with their thresholds, each in one sentence."""
    margins = (
        Margin(subject="draft", measure="support", score=0.62, threshold=0.7, effect="sent", sends=True),
        Margin(subject="draft", measure="support", score=0.62, threshold=0.3, effect="judged"),
        Margin(subject="draft", measure="relevance", score=0.9, threshold=0.5, effect="sent", sends=True),
    )
    bars = measure_bars(SnapshotAssessment(policy="calibrated@1", support=0.62, relevance=0.9), margins, ())

    assert [(each.title, each.threshold, each.good) for each in bars] == [
        ("Support", 0.7, False),
        ("Relevance", 0.5, True),
    ]
    assert bars[0].sentence == "The passages do not support enough of it: 0.62, 0.70 is needed."
    assert bars[1].sentence == "It answers the question: 0.90, at least 0.50 is needed."


def test_a_refused_draft_is_measured_by_the_threshold_that_its_sentence_names() -> None:
    """Below both thresholds the lower one decided; between them the one from which a draft is sent."""

    def threshold(score: float) -> float | None:
        margins = (
            Margin(subject="draft", measure="relevance", score=score, threshold=0.99, effect="", sends=True),
            Margin(subject="draft", measure="relevance", score=score, threshold=0.72, effect="judged"),
        )
        (bar,) = measure_bars(SnapshotAssessment(policy="calibrated@1", relevance=score), margins, ())
        return bar.threshold

    assert [threshold(score) for score in (0.33, 0.8, 0.995)] == [0.72, 0.99, 0.99]


def test_a_block_has_the_bar_of_its_category() -> None:
    """And none for categories below their threshold, or without one."""
    margins = (
        Margin(subject="message", measure="violence", score=0.93, threshold=0.5, effect="blocked"),
        Margin(subject="message", measure="hate", score=0.1, threshold=0.5, effect="blocked"),
        Margin(subject="message", measure="sexual", score=0.1, threshold=None, effect="flag"),
    )
    (bar,) = measure_bars(None, (), margins)

    assert (bar.title, bar.good) == ("violence", False)
    assert bar.sentence == "From the threshold on a text is blocked: 0.93 of 0.50."
