"""The values of a reading: what is asked of a judge about a draft, and what it answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from worker.model import Verdict


class ReadingOutcome(StrEnum):
    """How the call to the judge ended; only ``read`` has a reading. Stored."""

    READ = "read"
    OFF = "judge_off"
    UNAVAILABLE = "judge_unavailable"
    EMPTY = "judge_answer_empty"
    NOT_JSON = "judge_answer_is_not_json"
    SEVERAL = "judge_answer_has_several_readings"
    NO_SENTENCES = "judge_answer_has_no_sentences"
    SENTENCE_MISSING = "judge_answer_misses_a_sentence"
    NO_RELEVANCE = "judge_answer_has_no_relevance"
    NO_SCORES = "judge_answer_has_no_scores"
    OUT_OF_RANGE = "judge_answer_out_of_range"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRequest:
    """What a judge is asked about one draft, in one call.

    Attributes:
        question: what the author asked.
        written: day and time of the question; empty: unknown.
        conversation: earlier lines as (role, text), oldest first.
        passages: (title, text) in the order of their citation numbers.
        sentences: of the draft, without citation marks; the first has number 1.
        spans: where each stands in the draft, as (start, end).
        wants_verdicts: whether the policy needs a verdict of each sentence and the relevance.
        aspects: name of a score (0..1) that a published design asks for -> its scale, in the design's words.
    """

    question: str
    passages: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    written: str = ""
    conversation: tuple[tuple[str, str], ...] = ()
    wants_verdicts: bool = True
    aspects: Mapping[str, str] = field(default_factory=dict)

    @property
    def evidence(self) -> str:
        """All passages with their titles."""
        return "\n".join(f"{title}\n{text}" for title, text in self.passages)

    @property
    def asked(self) -> str:
        """The question and the conversation before it."""
        return "\n".join((self.question, *(text for _, text in self.conversation)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceReading:
    """The judge's answer about one sentence, unchecked.

    Attributes:
        probability: 0..1, that the passages support the sentence.
        quotes: words of the passages that the judge names for it.
    """

    verdict: Verdict
    probability: float
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The judge's answer about a draft, unchecked.

    Attributes:
        sentences: one for each sentence of the request, in its order; empty where no verdicts were wanted.
        relevance: 0..1, probability that the draft answers the question; None where no verdicts were wanted.
        left_out: what the draft leaves out of what was asked; often empty.
        scores: aspect -> 0..1.
    """

    sentences: tuple[SentenceReading, ...] = ()
    relevance: float | None = None
    left_out: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingAnswer:
    """How a judge answered.

    Attributes:
        reading: when ``outcome`` is ``read``, else None: a failed call is never a score.
        detail: what came instead, at most 120 characters, for the audit.
    """

    outcome: ReadingOutcome
    reading: Reading | None = None
    detail: str = ""


def without_reading(outcome: ReadingOutcome, detail: str = "") -> ReadingAnswer:
    """The answer of a call that gave no reading."""
    return ReadingAnswer(outcome=outcome, detail=detail[:120])
