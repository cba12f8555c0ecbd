"""The sentences of a reply that a judge supported, with the words of its passages."""

from __future__ import annotations

from tests.support.samples import assessment, passage
from worker.model import Quote, ReadSentence, Verdict
from worker.reply_sentences import sentences_within, supported_sentences

HOURS = passage(text="We are open from nine to six on weekdays. Parking is free.")
DRAFT = "We open at nine. [1] Pets may come in. You are welcome!"


def read(sentence: str, verdict: Verdict, support: float | None, *quotes: Quote) -> ReadSentence:
    """A sentence of the draft with its reading."""
    start = DRAFT.index(sentence)
    return ReadSentence(
        start=start, end=start + len(sentence), verdict=verdict, support=support, quotes=quotes
    )


READ = (
    read("We open at nine. ", Verdict.SUPPORTED, 0.9, Quote(passage=1, start=0, end=24)),
    read("Pets may come in.", Verdict.SUPPORTED, 0.0, Quote(passage=1, start=None, end=None)),
    read("You are welcome!", Verdict.NO_CLAIM, None),
)
LOOK = assessment(sentences=READ)


def test_a_supported_sentence_has_its_quotes_without_citation_marks() -> None:
    """Sentences that code did not believe, or that state nothing, are not published."""
    sent = "We open at nine. Pets may come in. You are welcome!"
    found = supported_sentences(LOOK, draft=DRAFT, sent=sent, passages=(HOURS,))

    quotes = [{"passage_id": HOURS.passage_id, "number": 1, "text": "We are open from nine to"}]
    assert found == [{"text": "We open at nine.", "support": 0.9, "quotes": quotes}]


def test_a_quote_of_a_title_is_the_title() -> None:
    """It has no place in the text."""
    look = assessment(
        sentences=(read("Pets may come in.", Verdict.SUPPORTED, 0.8, Quote(passage=1, start=None, end=None)),)
    )
    found = supported_sentences(look, draft=DRAFT, sent=DRAFT, passages=(HOURS,))

    assert found is not None
    assert found[0]["quotes"][0]["text"] == HOURS.title  # type: ignore[index, call-overload]


def test_a_text_without_a_reading_publishes_nothing() -> None:
    """A fallback text, and a draft that no judge read."""
    assert supported_sentences(LOOK, draft=None, sent="Sorry.", passages=(HOURS,)) is None
    assert supported_sentences(assessment(), draft=DRAFT, sent=DRAFT, passages=(HOURS,)) is None
    assert supported_sentences(LOOK, draft=DRAFT, sent="Sorry.", passages=(HOURS,)) == []


def test_places_follow_a_draft_into_its_part() -> None:
    """A sentence that the part leaves out has an empty place."""
    part = "You are welcome! We open at nine. [1]"
    one, other, last = sentences_within("We open at nine. [1] You are welcome!", DRAFT, READ)

    assert (one.start, one.end) == (0, len("We open at nine."))
    assert other.start == other.end
    assert last.end - last.start == len("You are welcome!")
    assert sentences_within(part, DRAFT, READ)[0].start == part.index("We open")
