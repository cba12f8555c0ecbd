"""A message as a search reads it: which words weigh how much, which texts get a vector."""

from __future__ import annotations

from worker.documents.query import EARLIER_WEIGHT, QUESTION_WEIGHT, embedded_texts, weighted_words

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
