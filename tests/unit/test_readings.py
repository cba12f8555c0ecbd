"""A judge's reading on the decision page: sentences of the draft, and quotes in the passages."""

from __future__ import annotations

import pytest

from review.decision.clauses import ExplanationFacts
from review.decision.explanation import explain
from review.decision.grounds import ShownPassage
from review.decision.highlights import quoted_html
from review.decision.judge_reading import FACTS, VERDICTS, quoted_grounds, shown_reading
from review.decision.notices import notices
from review.words.decisions import DRAFT_PROBLEMS
from worker.assessment import ReadingOutcome
from worker.assessment.reading.facts import Fact
from worker.model import Quote, Verdict
from worker.reasons import Reason
from worker.snapshot import Snapshot, SnapshotAssessment, SnapshotAttempt, SnapshotSentence

DRAFT = "We open at nine [1]. Entry costs 5 euros."
PASSAGES = (
    ShownPassage(number=1, passage_id="1#1", title="Hours", text="Open from nine to six."),
    ShownPassage(number=2, passage_id="2#1", title="Prices", text=None),
)
LOOK = SnapshotAssessment(
    left_out="the prices for children",
    sentences=(
        SnapshotSentence(
            start=0,
            end=20,
            verdict="supported",
            support=0.9,
            quotes=(Quote(passage=1, start=0, end=14), Quote(passage=1, start=None, end=None)),
        ),
        SnapshotSentence(
            start=21,
            end=41,
            verdict="supported",
            support=0.0,
            quotes=(Quote(passage=1, start=5, end=22), Quote(passage=2, start=0, end=4)),
            unknown_quotes=2,
            disagreements=("number: 5",),
        ),
    ),
)


def test_each_sentence_is_cut_out_of_the_draft_with_its_verdict() -> None:
    """A supported sentence whose facts differ is not trusted."""
    found = shown_reading(LOOK, draft=DRAFT, passages=PASSAGES)

    assert found is not None
    assert [each.text for each in found.sentences] == ["We open at nine [1].", "Entry costs 5 euros."]
    assert [each.trusted for each in found.sentences] == [True, False]
    assert found.sentences[1].facts == (("number or time", "5"),)
    assert len(found.sentences[1].remarks) == 2
    assert found.left_out == "the prices for children"


def test_without_the_draft_only_verdicts_are_shown() -> None:
    """Neither the sentences nor what names their facts."""
    found = shown_reading(LOOK, draft=None)

    assert found is not None
    assert {(each.text, each.facts) for each in found.sentences} == {("", ())}
    assert found.left_out == ""
    assert found.sentences[0].verdict == "the passages say it"
    assert found.sentences[0].verdict != found.sentences[1].verdict
    assert not found.with_texts
    assert shown_reading(SnapshotAssessment(), draft=DRAFT) is None


def test_a_sentence_that_a_partial_reply_leaves_out_says_so() -> None:
    """It has no place in the part that was sent."""
    look = SnapshotAssessment(sentences=(SnapshotSentence(verdict="not_mentioned", support=0.0),))
    found = shown_reading(look, draft=DRAFT)

    assert found is not None
    assert found.sentences[0].left_out


def test_quotes_are_marked_and_linked_both_ways() -> None:
    """Overlapping quotes keep an id each; a quote in a title is marked there."""
    grounds = quoted_grounds(LOOK, PASSAGES, draft=DRAFT, verbatim=False)
    reading = shown_reading(LOOK, draft=DRAFT, passages=PASSAGES)
    html, title = str(grounds.cited[0].html), str(grounds.cited[0].title)

    assert reading is not None
    assert [quote.anchor for quote in reading.sentences[0].quotes] == ["quote-1-1", "quote-1-2"]
    assert html.count('id="quote-1-1"') == html.count('id="quote-2-1"') == 1
    assert 'href="#sentence-1"' in html
    assert 'href="#sentence-2"' in html
    assert 'id="quote-1-2"' in title
    assert [each.passage.number for each in grounds.cited] == [1, 2]


def test_a_quote_in_a_passage_that_is_gone_has_no_link() -> None:
    """A link would lead nowhere."""
    reading = shown_reading(LOOK, draft=DRAFT, passages=PASSAGES)

    assert reading is not None
    assert reading.sentences[1].quotes[1].anchor == ""


def test_two_quotes_that_begin_alike_have_an_id_each() -> None:
    """One link leads to each of them, and nothing of the text is lost or run."""
    html = str(quoted_html("<b>nine</b>", {"quote-1-1": (0, 4), "quote-2-1": (0, 90), "quote-3-1": (50, 60)}))

    assert html.count('id="quote-1-1"') == html.count('id="quote-2-1"') == 1
    assert 'id="quote-3-1"' not in html
    assert "<b>" not in html


@pytest.mark.parametrize("outcome", [each for each in ReadingOutcome if each is not ReadingOutcome.READ])
def test_a_draft_held_unread_says_why(outcome: ReadingOutcome) -> None:
    """In the sentence at the top and in a notice: switched off, no answer, or an unusable one."""
    look = SnapshotAssessment(category=outcome.value, failed_checks=(outcome.value,))
    attempts = (SnapshotAttempt(stage="judge", outcome="timeout"),)
    facts = ExplanationFacts(
        row={
            "reason_code": Reason.HELD_UNREAD.value,
            "decision": "ignore",
            "user_id": "acme",
            "candidate_id": None,
        },
        snapshot=Snapshot(
            assessment=look, attempts=attempts if outcome is ReadingOutcome.UNAVAILABLE else ()
        ),
    )

    assert DRAFT_PROBLEMS[outcome] in explain(facts)
    assert len(notices(facts)) == 1


def test_every_verdict_and_every_fact_has_words() -> None:
    """A new one must be worded."""
    assert set(VERDICTS) == set(Verdict)
    assert set(Fact) == set(FACTS)
