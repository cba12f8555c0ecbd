"""The passages beside a draft, with the sentences that it repeats."""

from __future__ import annotations

from review.decision.grounds import ShownPassage, grounds_of
from review.decision.margins import Margin
from review.decision.measure_bars import measure_bars
from worker.snapshot import SnapshotAssessment

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
    found = grounds_of(
        "We are open from nine to six on weekdays [1].", shown(HOURS, RETURNS), language="en", verbatim=False
    )

    assert [each.passage.number for each in found.cited] == [1]
    assert found.cited[0].html == (
        'The shop was founded in 1999. <mark class="cited">We are open from nine to six on weekdays.</mark>'
        " Parking is free."
    )
    assert [(each.passage.number, each.matched) for each in found.others] == [(2, False)]
    assert found.numbered


def test_a_draft_without_numbers_rests_on_what_it_repeats() -> None:
    """Designs without citations get the passages whose sentences are closest."""
    found = grounds_of("Keep the receipt of your goods.", shown(HOURS, RETURNS), language=None, verbatim=True)

    assert [each.passage.number for each in found.cited] == [2]
    assert "<mark" in str(found.cited[0].html)
    assert not found.numbered


def test_nothing_is_marked_that_the_draft_does_not_say() -> None:
    """A cited passage without a common word stays plain; a deleted one has no text; markup is escaped."""
    found = grounds_of(
        "Elephants sleep [1]. They dream [2].",
        shown("<b>x</b> Parking is free.", None),
        language="en",
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
