"""How far a draft is trusted, and what a judge read in its sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from worker.model.event import Json


class Verdict(StrEnum):
    """What the passages say of one sentence; stored."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_MENTIONED = "not_mentioned"
    NO_CLAIM = "no_claim"
    PROMISE = "promise"
    OFF_TOPIC = "off_topic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A piece of a passage on which a sentence rests.

    Attributes:
        passage: citation number of the passage, from 1.
        start: place in the passage's text, in characters; None where it stands in the title.
        end: place after its last character; None likewise.
    """

    passage: int
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSentence:
    """One sentence of a draft, read by a judge and checked by code.

    Attributes:
        start: place in the draft, in characters.
        end: place after its last character.
        support: 0..1, probability that the passages support it; None for one that states nothing.
        quotes: the judge's quotes that stand in the passages.
        unknown_quotes: how many of its quotes do not.
        disagreements: facts of the sentence that the quotes do not bear out, as ``number: 18:15``.
    """

    start: int
    end: int
    verdict: Verdict
    support: float | None
    quotes: tuple[Quote, ...] = ()
    unknown_quotes: int = 0
    disagreements: tuple[str, ...] = ()


class Tier(StrEnum):
    """How far a draft is trusted; the three names are Confidence Guardrail's."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Action(StrEnum):
    """What an assessment asks for."""

    SEND = "send"
    RECHECK = "recheck"
    HOLD = "hold"
    FALLBACK = "fallback"
    ESCALATE = "escalate"
    SILENCE = "silence"


LOW_CONFIDENCE: Final = "low_confidence"
"""The reason of a rejection without a category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """How far a draft can be trusted, and the action that follows.

    Attributes:
        policy: name of the policy that judged, with its version, such as ``calibrated@1``.
        confidence: 0..1.
        category: a policy's own class of problem, or empty.
        passed_checks: names of checks that passed.
        failed_checks: names of checks that failed.
        reasons: sentences for a reviewer.
        signals: measured numbers, by name.
        explanation: one paragraph in plain words.
        diagnostics: the policy's own record as its document defines it.
        fallback_text: what to send instead when the action is ``fallback``, else None.
        support: 0..1, how far the evidence supports the draft, where the policy measures it.
        relevance: 0..1, how far the draft answers the question, where the policy can measure it.
        measured: False when no draft was measured: the policy is off, there was no draft, or the draft states
            nothing that can be right or wrong. ``confidence`` is then no measure of a reply.
        sentences: what a judge read in each sentence of the draft; empty without a reading.
        left_out: what the draft leaves out of what was asked, by the judge; often empty.
        intended_action: in test mode the action without it, else None.
        learning_suggestions: topics of the question that no passage contains, when no draft is sent; of
            ``validators`` always.
    """

    policy: str
    confidence: float
    tier: Tier
    action: Action
    category: str = ""
    passed_checks: tuple[str, ...] = ()
    failed_checks: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    explanation: str = ""
    diagnostics: Mapping[str, Json] = field(default_factory=dict)
    fallback_text: str | None = None
    support: float | None = None
    relevance: float | None = None
    measured: bool = True
    learning_suggestions: tuple[str, ...] = ()
    intended_action: Action | None = None
    sentences: tuple[ReadSentence, ...] = ()
    left_out: str = ""

    @property
    def rejection_reason(self) -> str | None:
        """Why the draft was rejected, or would be without test mode: the category or ``low_confidence``."""
        action = self.intended_action or self.action
        return None if action in (Action.SEND, Action.RECHECK) else self.category or LOW_CONFIDENCE
