"""The decision table: every ending has one name here, and one line that says what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from worker.assessment import Action, ReplyKind, text_for
from worker.model import Account, Assessment, Finding, Verdict


class Reason(StrEnum):
    """Why an event ended as it did; stored, never renamed."""

    UNKNOWN_ACCOUNT = "UNKNOWN_ACCOUNT"
    AI_DISABLED = "AI_DISABLED"
    CHATS_DISABLED = "CHATS_DISABLED"
    COMMENTS_DISABLED = "COMMENTS_DISABLED"
    TOO_LATE = "TOO_LATE"
    FLAGGED_RULE = "FLAGGED_RULE"
    MODERATION_FLAGGED = "MODERATION_FLAGGED"
    MODERATION_REJECTED = "MODERATION_REJECTED"
    MODERATION_UNAVAILABLE = "MODERATION_UNAVAILABLE"
    MODERATION_TIMED_OUT = "MODERATION_TIMED_OUT"
    LLM_ERROR = "LLM_ERROR"
    LLM_REJECTED = "LLM_REJECTED"
    MODEL_REFUSED = "MODEL_REFUSED"
    TOOL_LOOP = "TOOL_LOOP"
    MODEL_ESCALATED = "MODEL_ESCALATED"
    REPLY_FLAGGED_RULE = "REPLY_FLAGGED_RULE"
    REPLY_MODERATION_FLAGGED = "REPLY_MODERATION_FLAGGED"
    REPLY_MODERATION_REJECTED = "REPLY_MODERATION_REJECTED"
    REPLY_MODERATION_UNAVAILABLE = "REPLY_MODERATION_UNAVAILABLE"
    REPLY_MODERATION_TIMED_OUT = "REPLY_MODERATION_TIMED_OUT"
    NO_EVIDENCE = "NO_EVIDENCE"
    NO_ANSWER = "NO_ANSWER"
    LOW_CONFIDENCE = "LOW_CONFIDENCE"
    LOW_CONFIDENCE_ESCALATED = "LOW_CONFIDENCE_ESCALATED"
    FALLBACK_SENT = "FALLBACK_SENT"
    REPLIED = "REPLIED"


class ErrorClass(StrEnum):
    """The classes of the system this one continues (seed 004), kept so that people can grep for them."""

    PRE_BLOCKED = "GUARDRAIL_PRE_BLOCKED"
    POST_BLOCKED = "GUARDRAIL_POST_BLOCKED"
    LLM_ERROR = "LLM_ERROR"


ERROR_CLASS: Final[dict[Reason, ErrorClass]] = {
    Reason.UNKNOWN_ACCOUNT: ErrorClass.PRE_BLOCKED,
    Reason.AI_DISABLED: ErrorClass.PRE_BLOCKED,
    Reason.CHATS_DISABLED: ErrorClass.PRE_BLOCKED,
    Reason.COMMENTS_DISABLED: ErrorClass.PRE_BLOCKED,
    Reason.TOO_LATE: ErrorClass.PRE_BLOCKED,
    Reason.FLAGGED_RULE: ErrorClass.PRE_BLOCKED,
    Reason.MODERATION_FLAGGED: ErrorClass.PRE_BLOCKED,
    Reason.MODERATION_REJECTED: ErrorClass.PRE_BLOCKED,
    Reason.MODERATION_UNAVAILABLE: ErrorClass.PRE_BLOCKED,
    Reason.MODERATION_TIMED_OUT: ErrorClass.PRE_BLOCKED,
    Reason.LLM_ERROR: ErrorClass.LLM_ERROR,
    Reason.LLM_REJECTED: ErrorClass.LLM_ERROR,
    Reason.MODEL_REFUSED: ErrorClass.LLM_ERROR,
    Reason.TOOL_LOOP: ErrorClass.LLM_ERROR,
    Reason.REPLY_FLAGGED_RULE: ErrorClass.POST_BLOCKED,
    Reason.REPLY_MODERATION_FLAGGED: ErrorClass.POST_BLOCKED,
    Reason.REPLY_MODERATION_REJECTED: ErrorClass.POST_BLOCKED,
    Reason.REPLY_MODERATION_UNAVAILABLE: ErrorClass.POST_BLOCKED,
    Reason.REPLY_MODERATION_TIMED_OUT: ErrorClass.POST_BLOCKED,
}
"""Every silent ending that a guardrail or the model caused; endings that are missing here are no errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Which text a guard looks at, and the names its endings have."""

    suffix: str
    rule: Reason
    flagged: Reason
    rejected: Reason
    unavailable: Reason
    timed_out: Reason


MESSAGE: Final = Subject(
    suffix="",
    rule=Reason.FLAGGED_RULE,
    flagged=Reason.MODERATION_FLAGGED,
    rejected=Reason.MODERATION_REJECTED,
    unavailable=Reason.MODERATION_UNAVAILABLE,
    timed_out=Reason.MODERATION_TIMED_OUT,
)
REPLY: Final = Subject(
    suffix="_reply",
    rule=Reason.REPLY_FLAGGED_RULE,
    flagged=Reason.REPLY_MODERATION_FLAGGED,
    rejected=Reason.REPLY_MODERATION_REJECTED,
    unavailable=Reason.REPLY_MODERATION_UNAVAILABLE,
    timed_out=Reason.REPLY_MODERATION_TIMED_OUT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an event ends: everything of a Decision that is not its trace.

    Attributes:
        confidence: 1.0 for a fact, 0.95 for a rule (seed 004), the score for moderation, the assessment's
            figure for a reply, 0.0 when what should have judged could not.
        quarantine: True when the exchange leaves the stored history and is sealed.
    """

    verdict: Verdict
    reason_code: Reason
    reason: str
    confidence: float
    matched_rule: str | None = None
    reply: str | None = None
    degraded: bool = False
    quarantine: bool = False


RULE_CONFIDENCE: Final = 0.95


def silent(code: Reason, sentence: str, *, confidence: float = 1.0, degraded: bool = False) -> Ending:
    """An ending that nobody but the audit sees."""
    return Ending(
        verdict=Verdict.IGNORE,
        reason_code=code,
        reason=_classed(code, sentence),
        confidence=confidence,
        degraded=degraded,
    )


def blocked(code: Reason, finding: Finding) -> Ending:
    """A guardrail's block: silent, and the exchange is sealed away."""
    return Ending(
        verdict=Verdict.IGNORE,
        reason_code=code,
        reason=_classed(code, finding.evidence),
        confidence=RULE_CONFIDENCE if finding.score is None else finding.score,
        matched_rule=finding.matched_rule,
        quarantine=True,
    )


def escalated(code: Reason, sentence: str) -> Ending:
    """A hand-off to a person: no reply goes out."""
    return Ending(verdict=Verdict.ESCALATE, reason_code=code, reason=sentence, confidence=1.0)


def judged(
    draft: str, assessment: Assessment, account: Account, *, language: str | None = None, early: bool = False
) -> Ending:
    """What becomes of a draft by its assessment; without one for want of evidence it is ``early``.

    A fallback is the account's own text in the author's ``language`` before it is the policy's.
    """
    confidence, own = assessment.confidence, text_for(account.fallback_texts, language)
    match Action(assessment.action):
        case Action.SEND | Action.RECHECK:
            return _spoken(Reason.REPLIED, assessment, draft)
        case Action.FALLBACK if text := own or assessment.fallback_text:
            return _spoken(Reason.FALLBACK_SENT, assessment, text)
        case Action.ESCALATE:
            return replace(
                escalated(Reason.LOW_CONFIDENCE_ESCALATED, assessment.explanation), confidence=confidence
            )
        case _:
            return silent(_silence(assessment, early=early), assessment.explanation, confidence=confidence)


def _spoken(code: Reason, assessment: Assessment, text: str) -> Ending:
    return Ending(
        verdict=Verdict.RESPOND,
        reason_code=code,
        reason=assessment.explanation,
        confidence=assessment.confidence,
        reply=text,
    )


def _silence(assessment: Assessment, *, early: bool) -> Reason:
    if early:
        return Reason.NO_EVIDENCE
    return Reason.NO_ANSWER if assessment.category == ReplyKind.REFUSAL else Reason.LOW_CONFIDENCE


def _classed(code: Reason, sentence: str) -> str:
    error_class = ERROR_CLASS.get(code)
    return f"{error_class}: {sentence}" if error_class else sentence
