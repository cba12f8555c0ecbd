"""One call to the judge about one draft, and what code makes of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from worker.assessment.reading.answer import read_answer
from worker.assessment.reading.checked import CheckedReading, checked_reading
from worker.assessment.reading.model import ReadingAnswer, ReadingOutcome, ReadingRequest, without_reading
from worker.assessment.text.citation_removal import read_text
from worker.assessment.text.citations import states_something
from worker.assessment.text.words import list_numbers, sentence_spans
from worker.assessment.values import DraftCase
from worker.errors import ModelRejected, ModelUnavailable
from worker.model import Completion


class Judge(Protocol):
    """A language model that reads a draft beside its passages.

    Raises:
        ModelUnavailable: no usable answer this time.
        ModelRejected: the judge refused the request.
    """

    async def read(self, request: ReadingRequest) -> Completion:
        """Return the raw answer; :func:`read_draft` parses and checks it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a policy wants a judge to read.

    Attributes:
        verdicts: of each sentence, and the relevance.
        aspects: name of a score -> its scale, in the design's words.
    """

    verdicts: bool = False
    aspects: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, other: Wanted) -> Wanted:
        return Wanted(verdicts=self.verdicts or other.verdicts, aspects={**self.aspects, **other.aspects})

    def __bool__(self) -> bool:
        return self.verdicts or bool(self.aspects)


NOTHING = Wanted()


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftReading:
    """What a judge read in a draft, checked by code.

    Attributes:
        detail: what came instead of a reading, at most 120 characters.
        checked: None without a reading, or where no verdicts were wanted.
        scores: aspect -> 0..1.
    """

    outcome: ReadingOutcome
    detail: str = ""
    checked: CheckedReading | None = None
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Why there is no reading; an unusable answer is not shown, since it may repeat the draft."""
        detail = f" ({self.detail})" if self.detail and self.outcome is ReadingOutcome.UNAVAILABLE else ""
        return f"no reading by the judge: {self.outcome.value}{detail}"


def reading_request(case: DraftCase, wanted: Wanted) -> ReadingRequest:
    """The request for a draft; its sentences are read without citation marks and numbers of list items."""
    spans = [span for span in sentence_spans(case.draft) if states_something(case.draft[slice(*span)])]
    numbered = list_numbers(case.draft)
    stated = [(numbered.get(start, start), end) for start, end in spans]
    return ReadingRequest(
        question=case.query,
        written=case.evidence.written,
        conversation=tuple((line.role.value, line.text) for line in case.evidence.history),
        passages=case.titled_passages,
        sentences=tuple(read_text(case.draft[slice(*span)], case.evidence.passages) for span in stated),
        spans=tuple(spans),
        wants_verdicts=wanted.verdicts,
        aspects=wanted.aspects,
    )


async def read_draft(judge: Judge | None, case: DraftCase, wanted: Wanted) -> DraftReading:
    """What the judge reads; without a judge, or without a usable answer, the outcome says so."""
    if judge is None:
        return DraftReading(outcome=ReadingOutcome.OFF)
    request = reading_request(case, wanted)
    return checked_answer(await _answer(judge, request), request)


async def _answer(judge: Judge, request: ReadingRequest) -> ReadingAnswer:
    try:
        completion = await judge.read(request)
    except (ModelUnavailable, ModelRejected) as error:
        return without_reading(ReadingOutcome.UNAVAILABLE, str(error))
    if completion.refusal is not None:
        return without_reading(ReadingOutcome.UNAVAILABLE, f"refused: {completion.refusal}")
    return read_answer(completion.text, request)


def checked_answer(answer: ReadingAnswer, request: ReadingRequest) -> DraftReading:
    """The answer of a judge with its verdicts checked."""
    reading = answer.reading
    if reading is None:
        return DraftReading(outcome=answer.outcome, detail=answer.detail)
    checked = checked_reading(request, reading) if request.wants_verdicts else None
    return DraftReading(outcome=answer.outcome, checked=checked, scores=reading.scores)
