"""Search words: the same for a document and for what asks for it, with their weights."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.documents.query import EARLIER_WEIGHT, QUESTION_WEIGHT, embedded_texts, weighted_words
from worker.documents.words import WORD_CHARS, search_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where's my Rückgabe?", ["where", "s", "my", "rückgabe"]),
        ("退货政策", ["退货", "货政", "政策"]),
        ("猫", ["猫"]),
        ("iPhone17を買う", ["iphone17", "を買", "買う"]),
        ("ＦＵＬＬ　ｗｉｄｔｈ", ["full", "width"]),
        ("Tiếng Việt", ["tiếng", "việt"]),
        ("हिन्दी", ["हिन्दी"]),
        ("snake_case e-bike", ["snake", "case", "e", "bike"]),
        ("to be or not to be", ["to", "be", "or", "not", "to", "be"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("", []),
    ],
)
def test_words_of_every_script_are_found(text: str, expected: list[str]) -> None:
    """Folded by NFKC and case, in order; pairs of characters where a script writes no spaces."""
    assert search_words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4.5 mm", ["4.5", "mm"]),
        ("4,5 mm.", ["4.5", "mm"]),
        ("1,200 €", ["1200"]),
        ("1200 €", ["1200"]),
        ("AB-1234/7", ["ab-1234/7", "ab", "1234", "7"]),
        ("v1.2.3", ["v1.2.3", "v1", "2", "3"]),
        ("2026-11-26", ["2026-11-26", "2026", "11", "26"]),
        ("at 9:30.", ["at", "9:30", "9", "30"]),
    ],
)
def test_an_amount_or_a_code_is_one_word(text: str, expected: list[str]) -> None:
    """An amount has one form and no parts; the parts of a code are words too."""
    assert search_words(text) == expected


@given(st.text(st.characters(codec="utf-8")))
def test_words_can_be_stored_as_lexemes(text: str) -> None:
    """Short, without blank or quote, and never empty, so that Postgres accepts them unchanged."""
    found = search_words(text)

    assert all(0 < len(word) <= WORD_CHARS and not set(word) & set(" '\\\0") for word in found)


STORY = "Hello! I bought a helmet last week. Can I return it? It was a gift."


def test_the_words_of_a_question_among_sentences_weigh_more() -> None:
    """A greeting and a story do not hide what is asked."""
    found = weighted_words(STORY)

    assert found["return"] == QUESTION_WEIGHT
    assert found["hello"] == found["week"] == found["gift"] == 1


def test_a_message_of_one_sentence_has_equal_words() -> None:
    """A question mark alone changes nothing."""
    assert weighted_words("Can I return it?") == dict.fromkeys(("can", "i", "return", "it"), 1.0)


def test_words_of_earlier_lines_weigh_less_than_the_message() -> None:
    """A word of both counts as one of the message."""
    found = weighted_words("And on Saturday?", ["When are you open on Sunday?"])

    assert found["sunday"] == EARLIER_WEIGHT
    assert found["on"] == found["saturday"] == 1


def test_a_story_is_compared_by_its_questions_and_its_last_sentences() -> None:
    """At most three sentences besides the whole, the questions first."""
    assert embedded_texts(STORY) == (
        STORY,
        "Can I return it?",
        "It was a gift.",
        "I bought a helmet last week.",
    )


def test_a_follow_up_is_compared_after_the_line_it_continues() -> None:
    """The author's line, without the reply to it."""
    found = embedded_texts("And on Saturday?", ["When are you open on Sunday?", "From ten to four."])

    assert found == ("And on Saturday?", "When are you open on Sunday?\nAnd on Saturday?")
