"""The judge port: one question with its context, one number between 0 and 1 or a named failure."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from worker.model import Completion, Prompt


class Aspect(StrEnum):
    """What a judge scores."""

    CONFIDENCE = "confidence"
    GROUNDING = "grounding"
    CERTAINTY = "certainty"
    SENTENCE = "sentence"
    RELEVANCE = "relevance"
    QUOTATION = "quotation"


class JudgeOutcome(StrEnum):
    """How one question to the judge ended; only ``scored`` carries a score."""

    SCORED = "scored"
    UNAVAILABLE = "judge_unavailable"
    EMPTY = "judge_answer_empty"
    WORD = "judge_answer_is_a_word"
    PROSE = "judge_answer_is_prose"
    NAN = "judge_answer_is_not_a_number"
    OUT_OF_RANGE = "judge_answer_out_of_range"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """One question to a judge; a language model reads ``prompt``, a detector reads the fields.

    Attributes:
        aspect: what the score measures.
        query: what the author asked.
        context: the passages, numbered.
        claim: the whole draft, or one sentence of it when ``aspect`` is ``sentence``.
        instruction: the scale, in the policy's own words.
    """

    aspect: Aspect
    query: str
    context: str
    claim: str
    instruction: str

    @property
    def prompt(self) -> Prompt:
        """This question for a language model that answers with a bare number."""
        parts = (
            f"<question>\n{self.query}\n</question>",
            f"<context>\n{self.context}\n</context>",
            f"<answer>\n{self.claim}\n</answer>",
        )
        return Prompt(system=self.instruction, history=(), question="\n".join(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """How a judge answered one question.

    Attributes:
        score: 0..1 when ``outcome`` is ``scored``, else None: a failed call is never a number.
        detail: what the judge answered instead, at most 120 characters, for the audit.
    """

    outcome: JudgeOutcome
    score: float | None = None
    detail: str = ""


class Judge(Protocol):
    """A language model or a trained detector that scores a claim.

    Raises:
        ModelUnavailable: no usable answer this time.
        ModelRejected: the judge refused the request.
    """

    async def judge(self, question: JudgeQuestion) -> str | float | Completion:
        """Return the raw answer, as a completion when it cost tokens; :func:`read_answer` parses it."""
        ...


def unavailable_answer(reason: str) -> JudgeAnswer:
    """The answer recorded for a failed call."""
    return JudgeAnswer(outcome=JudgeOutcome.UNAVAILABLE, detail=reason[:120])


def read_answer(raw: str | float) -> JudgeAnswer:
    """The score of a raw answer: a bare number, or a JSON object ``{"score": 0.8}``, within 0..1.

    Nothing is guessed: "yes", a sentence with a number in it, NaN and 7 each have their own outcome.
    """
    if isinstance(raw, str):
        number = _number(raw.strip())
        if isinstance(number, JudgeOutcome):
            return JudgeAnswer(outcome=number, detail=raw.strip()[:120])
    elif isinstance(raw, bool):
        return JudgeAnswer(outcome=JudgeOutcome.WORD, detail=str(raw))
    else:
        number = float(raw)
    if math.isnan(number):
        return JudgeAnswer(outcome=JudgeOutcome.NAN, detail=str(raw)[:120])
    if not 0.0 <= number <= 1.0:
        return JudgeAnswer(outcome=JudgeOutcome.OUT_OF_RANGE, detail=str(raw)[:120])
    return JudgeAnswer(outcome=JudgeOutcome.SCORED, score=number)


def _number(text: str) -> float | JudgeOutcome:
    if not text:
        return JudgeOutcome.EMPTY
    if text.startswith("{"):
        return _score_of_object(text)
    try:
        return float(text)
    except ValueError:
        return JudgeOutcome.PROSE if len(text.split()) > 1 else JudgeOutcome.WORD


def _score_of_object(text: str) -> float | JudgeOutcome:
    try:
        score = json.loads(text)["score"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return JudgeOutcome.PROSE
    if isinstance(score, bool) or not isinstance(score, int | float):
        return JudgeOutcome.WORD
    return float(min(score, 2))  # an integer of a thousand digits is out of range, not an overflow
