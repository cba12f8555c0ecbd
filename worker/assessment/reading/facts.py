"""What code can see of a judge's verdict: facts of a sentence that its quotes do not bear out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from worker.assessment.reading.addresses import missing_addresses
from worker.assessment.reading.amounts import missing_figures
from worker.assessment.reading.dates import missing_dates
from worker.assessment.reading.names import missing_names
from worker.assessment.reading.polarity import dropped_condition, flipped
from worker.assessment.reading.predicates import denied
from worker.assessment.text.words import encodable_text, split_sentences


class Fact(StrEnum):
    """A kind of fact that code compares; stored."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    NEGATION = "negation"
    CONDITION = "condition"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A fact of a sentence that its quotes do not bear out.

    Attributes:
        detail: the fact, as the sentence states it.
    """

    kind: Fact
    detail: str


def disagreements(
    sentence: str, *, draft: str, quoted: str, beside: str, passages: str, question: str, asked: str
) -> tuple[Disagreement, ...]:
    """The facts of a sentence that its evidence does not state; silent where code cannot be sure.

    Args:
        sentence: of the draft, without citation marks.
        draft: all sentences of the draft.
        quoted: the quotes, one a line.
        beside: the paragraphs that the quotes stand in.
        passages: all passages with their titles.
        question: as the customer put it; its numbers may be repeated.
        asked: the question, with the conversation before it.
    """
    texts = (sentence, draft, quoted, beside, passages, question, asked)
    sentence, draft, quoted, beside, passages, question, asked = map(encodable_text, texts)
    dropped, ground = dropped_condition(sentence, quoted), f"{quoted}\n{passages}\n{asked}"
    flip = flipped(sentence, draft=draft, quoted=quoted)
    predicate = denied(sentence, draft=draft, quoted=quoted, near=split_sentences(beside))
    found = {
        Fact.NUMBER: missing_figures(
            sentence, draft=draft, quoted=quoted, beside=beside, question=question, asked=asked
        ),
        Fact.DATE: missing_dates(sentence, draft=draft, quoted=quoted, ground=ground, asked=asked),
        Fact.NAME: missing_names(sentence, draft=draft, ground=ground),
        Fact.NEGATION: [each for each in (flip, predicate) if each],
        Fact.CONDITION: [dropped] if dropped else [],
        Fact.ADDRESS: missing_addresses(sentence, f"{quoted}\n{passages}"),
    }
    return tuple(
        Disagreement(kind=kind, detail=detail) for kind, details in found.items() for detail in details
    )


def prepare() -> None:
    """Load the word lists, CLDR names and patterns that the first call needs."""
    disagreements(
        "Yes, 2 days.",
        draft="Yes, 2 days.",
        quoted="No.",
        beside="No.",
        passages="All 3.",
        question="When?",
        asked="When?",
    )
