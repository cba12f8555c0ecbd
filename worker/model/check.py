"""Checks: a program asks whether its own message or draft may pass, and gets a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class CheckOutcome(StrEnum):
    """What a program should do with what it had checked; stored.

    Attributes:
        ALLOW: the message may be answered, or the draft may be sent.
        REWRITE: the verdict's text may be sent, not the draft.
        HOLD: a person must look; nothing was found that is forbidden, or a check could not be made.
        BLOCK: a rule or moderation flagged the message or the draft.
    """

    ALLOW = "allow"
    REWRITE = "rewrite"
    HOLD = "hold"
    BLOCK = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQuote:
    """A piece of a passage on which a sentence rests; ``number``: of the passage, as the program counts."""

    passage_id: str = ""
    number: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSentence:
    """What a judge read in one sentence of the draft.

    Attributes:
        text: the sentence, without citation marks.
        verdict: a value of ``worker.model.Verdict``.
        support: 0..1, how likely it is that the passages support the sentence; None: it states nothing.
        disagreements: facts that its quotes do not bear out, such as ``number: 19``: support is 0 then.
    """

    text: str = ""
    verdict: str = ""
    support: float | None = None
    quotes: tuple[CheckedQuote, ...] = ()
    disagreements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckVerdict:
    """The answer to one check.

    Attributes:
        id: of the check, as the program gave it, or a new one.
        decision_id: the row of ``ai_decisions``.
        verdict: what to do now.
        would: the verdict without shadow mode and without ``fail_open``; None where it is the same.
        failed_open: the check could not be made, and the API token says that a text passes then.
        reason_code: a member of ``worker.reasons.Reason``.
        reason: one sentence for a reviewer.
        confidence: 0..1, how sure the deciding stage was.
        text: what may be sent: the draft without citation marks, or another text; None for no text.
        matched_rule: the rule or moderation category that matched, or None.
        categories: moderation category -> highest score of message and draft, of scores near a threshold.
        tier: ``high``, ``medium`` or ``low``; None where no draft was assessed.
        sentences: what a judge read in the draft; empty where no judge read it.
        degraded: a service that should have been asked gave no answer.
    """

    id: str
    user_id: str
    decision_id: str
    decided_at: datetime
    verdict: CheckOutcome
    would: CheckOutcome | None = None
    failed_open: bool = False
    reason_code: str
    reason: str
    confidence: float
    text: str | None = None
    matched_rule: str | None = None
    categories: Mapping[str, float] = field(default_factory=dict)
    tier: str | None = None
    sentences: tuple[CheckedSentence, ...] = ()
    degraded: bool = False
