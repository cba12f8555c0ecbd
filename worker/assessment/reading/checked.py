"""A judge's reading after code has checked it: what each sentence is worth, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from worker.assessment.reading.courtesy import states_nothing
from worker.assessment.reading.facts import disagreements
from worker.assessment.reading.model import Reading, ReadingRequest, SentenceReading
from worker.assessment.reading.quotes import located, whole_clauses, whole_paragraph
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.model import Quote, ReadSentence, Verdict

UNPROVEN: Final = 0.0
"""Support of a sentence that the judge does not support, or whose verdict does not stand."""
ASKED_NOTHING: Final = 1.0
"""Relevance of a draft that is checked without a message: there is no question that it can miss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedReading:
    """A draft, read and checked.

    Attributes:
        relevance: 0..1, probability that the draft answers the question.
        left_out: what the draft leaves out of the question; often empty.
    """

    sentences: tuple[ReadSentence, ...]
    relevance: float
    left_out: str = ""

    @property
    def support(self) -> float:
        """0..1, support of the worst sentence; 0 when no sentence is supported."""
        return min((each.support for each in self.sentences if each.support is not None), default=UNPROVEN)

    @property
    def promises(self) -> bool:
        """Whether the judge reads a promise to this author."""
        return any(each.verdict is Verdict.PROMISE for each in self.sentences)

    @property
    def contested(self) -> bool:
        """Whether a sentence disagrees with the quotes that the judge names for it."""
        return any(each.disagreements for each in self.sentences)

    @property
    def unquoted(self) -> bool:
        """Whether a sentence is called supported without a quote that stands in the passages."""
        return any(each.verdict is Verdict.SUPPORTED and not each.quotes for each in self.sentences)


def checked_reading(request: ReadingRequest, reading: Reading) -> CheckedReading:
    """The reading with each verdict checked; a check never makes one better."""
    read = zip(request.sentences, request.spans, reading.sentences, strict=True)
    return CheckedReading(
        sentences=tuple(_checked(text, span, each, request) for text, span, each in read),
        relevance=(reading.relevance or 0.0) if request.question else ASKED_NOTHING,
        left_out=reading.left_out,
    )


def _instructs(quote: Quote, passages: Sequence[tuple[str, str]]) -> bool:
    """Whether a quote speaks to the reader of replies: an instruction in a passage is no evidence."""
    return list_pattern("instructions").search(folded_text(whole_clauses(quote, passages))) is not None


def _checked(
    text: str, span: tuple[int, int], read: SentenceReading, request: ReadingRequest
) -> ReadSentence:
    found = [located(quote, request.passages) for quote in read.quotes]
    standing = (quote for quote in found if quote is not None)
    quotes = tuple(dict.fromkeys(each for each in standing if not _instructs(each, request.passages)))
    against: tuple[str, ...] = ()
    support: float | None = UNPROVEN
    if read.verdict is Verdict.SUPPORTED and quotes:
        noticed = disagreements(
            text,
            draft=" ".join(request.sentences),
            quoted="\n".join(dict.fromkeys(whole_clauses(quote, request.passages) for quote in quotes)),
            beside="\n".join(dict.fromkeys(whole_paragraph(quote, request.passages) for quote in quotes)),
            passages=request.evidence,
            question=request.question,
            asked=request.asked,
        )
        against = tuple(f"{each.kind}: {each.detail}"[:80] for each in noticed)
        support = UNPROVEN if against else read.probability
    elif read.verdict is Verdict.NO_CLAIM:
        nothing = states_nothing(text, asked=request.asked, passages=request.evidence)
        support = None if nothing else UNPROVEN
    return ReadSentence(
        start=span[0],
        end=span[1],
        verdict=read.verdict,
        support=support,
        quotes=quotes,
        unknown_quotes=found.count(None),
        disagreements=against,
    )
