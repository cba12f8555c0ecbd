"""The decision table: from what a step found to the event's ending."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from worker.assessment import (
    Delivery,
    DraftReading,
    FallbackLevel,
    ReplyKind,
    SupportedPart,
    UnusableReason,
    delivered_text,
)
from worker.model import Action, Assessment, Finding, Json, Passage, Stage, Tokens
from worker.reasons import Reason
from worker.reply_sentences import sentences_within


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedText:
    """Which text a guard tests, and the reasons of its endings."""

    rules_stage: Stage
    moderation_stage: Stage
    rule: Reason
    flagged: Reason
    rejected: Reason
    unavailable: Reason
    timed_out: Reason
    misconfigured: Reason


MESSAGE: Final = GuardedText(
    rules_stage=Stage.RULES,
    moderation_stage=Stage.MODERATION,
    rule=Reason.FLAGGED_RULE,
    flagged=Reason.MODERATION_FLAGGED,
    rejected=Reason.MODERATION_REJECTED,
    unavailable=Reason.MODERATION_UNAVAILABLE,
    timed_out=Reason.MODERATION_TIMED_OUT,
    misconfigured=Reason.MODERATION_MISCONFIGURED,
)
REPLY: Final = GuardedText(
    rules_stage=Stage.RULES_REPLY,
    moderation_stage=Stage.MODERATION_REPLY,
    rule=Reason.REPLY_FLAGGED_RULE,
    flagged=Reason.REPLY_MODERATION_FLAGGED,
    rejected=Reason.REPLY_MODERATION_REJECTED,
    unavailable=Reason.REPLY_MODERATION_UNAVAILABLE,
    timed_out=Reason.REPLY_MODERATION_TIMED_OUT,
    misconfigured=Reason.REPLY_MODERATION_MISCONFIGURED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A reply in the making and all it rests on, from its passages on; each step returns the next version.

    Attributes:
        text: as the model wrote it, with its citation marks; empty before there is one.
        passages: in the order that the citation marks count.
        said_before: the newest earlier line of the author, or empty.
        search_failure: kind of the error that left a search without passages, or empty.
        prompt_hash: of the newest prompt.
        assessment: None before the text, or the lack of evidence, was assessed.
        nothing_stored: whether the account has no document at all.
        reading: what a judge read in the text, or None.
        part: the supported part of a text that is not trusted, if it may be sent.
        rechecked: confidence before and after a recheck, None after it when there was no second draft.
        model: the model that wrote the text, as it names itself.
        tokens: what this draft cost.
        others: the texts of the other models, where several were asked.
        models_asked: one entry for each of several models: what it was asked for and what came of it.
        loser: the less trusted one of two drafts.
        fence: the mark of its prompt, which no reply may have.
    """

    text: str = ""
    passages: tuple[Passage, ...] = ()
    said_before: str = ""
    search_failure: str = ""
    prompt_hash: str | None = None
    assessment: Assessment | None = None
    nothing_stored: bool = False
    reading: DraftReading | None = None
    part: SupportedPart | None = None
    rechecked: tuple[float, float | None] | None = None
    model: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    others: tuple[str, ...] = ()
    models_asked: tuple[Mapping[str, Json], ...] = ()
    loser: Draft | None = None
    fence: str = ""

    @property
    def reply(self) -> str:
        """The text in the form in which it would be sent."""
        return delivered_text(self.text, self.passages)

    @property
    def assessed(self) -> Assessment:
        """The assessment.

        Raises:
            ValueError: the draft is not assessed yet, which is a bug of the pipeline.
        """
        if self.assessment is None:
            raise ValueError("the draft is not assessed yet")
        return self.assessment


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an event ends: a Decision without its trace.

    Attributes:
        confidence: 1.0 for a fact, 0.95 for a rule (Guardrails), the score for moderation, the assessment's
            confidence for a reply, 0.0 when moderation or the model failed.
        reply: the text to send, without citation marks: the draft's or a fallback.
        disclosure: the account's text on AI in the author's language, or None.
        quarantine: True when the exchange leaves the stored history and is sealed.
        answered_event: the event that is answered instead of this one, if there is one.
        edited_text: the text with which the event is decided again, as its author edited it meanwhile.
        withheld: the ending whose reply waits for approval, if this is one that asks for it.
    """

    reason_code: Reason
    reason: str
    confidence: float
    matched_rule: str | None = None
    reply: str | None = None
    disclosure: str | None = None
    degraded: bool = False
    quarantine: bool = False
    draft: Draft = Draft()
    answered_event: str | None = None
    edited_text: str | None = None
    withheld: Ending | None = None


RULE_CONFIDENCE: Final = 0.95


def silent_ending(code: Reason, sentence: str, *, confidence: float = 1.0, degraded: bool = False) -> Ending:
    """An ending without a reply: silence, or a person answers."""
    return Ending(
        reason_code=code,
        reason=_classed(code, sentence),
        confidence=confidence,
        degraded=degraded,
    )


def blocked_ending(code: Reason, finding: Finding) -> Ending:
    """A guardrail's block: no reply, and the exchange is quarantined."""
    return Ending(
        reason_code=code,
        reason=_classed(code, finding.evidence),
        confidence=RULE_CONFIDENCE if finding.score is None else finding.score,
        matched_rule=finding.matched_rule,
        quarantine=True,
    )


_LEVEL_OF_ACTION: Final = {
    Action.FALLBACK: FallbackLevel.TEXT,
    Action.ESCALATE: FallbackLevel.HANDOFF,
    Action.SILENCE: FallbackLevel.SILENCE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountTexts:
    """The account's texts for one reply, in the author's language; None or empty where there is none.

    Attributes:
        fallback: sent instead of a draft.
        missing: after a partial answer.
        confidence: after a reply, on its confidence.
        disclosure: with the first reply of a conversation: an AI answers.
    """

    fallback: str | None = None
    missing: str | None = None
    confidence: str | None = None
    disclosure: str | None = None


NO_TEXTS: Final = AccountTexts()
DEFAULT_DELIVERY: Final = Delivery()


def assessed_ending(
    draft: Draft, texts: AccountTexts = NO_TEXTS, delivery: Delivery = DEFAULT_DELIVERY
) -> Ending:
    """The ending that a draft's assessment asks for; for an untrusted draft the first possible level."""
    assessment = draft.assessed
    if assessment.action in (Action.SEND, Action.RECHECK):
        return _replied(Reason.REPLIED, draft, _with_text(draft.reply, texts.confidence), texts.disclosure)
    if ReplyKind.PROMISE in assessment.failed_checks:
        return _silent(Reason.PROMISED_ACTION, draft)
    endings = (_level_ending(level, draft, texts) for level in delivery.fallback_levels)
    ending = next(filter(None, endings), None) or _silent(_silent_reason(draft), draft)
    return replace(ending, disclosure=texts.disclosure if ending.reply is not None else None)


def _level_ending(level: FallbackLevel, draft: Draft, texts: AccountTexts) -> Ending | None:
    """The ending of one level; None when it is not possible for this draft."""
    match level:
        case FallbackLevel.POLICY if draft.assessed.action is Action.HOLD:
            return _held(draft, texts)
        case FallbackLevel.POLICY:
            own = _LEVEL_OF_ACTION[draft.assessed.action]
            return _level_ending(own, draft, texts)
        case FallbackLevel.PARTIAL:
            return _partial_ending(draft, texts)
        case FallbackLevel.TEXT:
            text = texts.fallback or draft.assessed.fallback_text
            usable = draft.assessed.category not in frozenset(UnusableReason)
            return _replied(Reason.FALLBACK_SENT, draft, text) if text and usable else None
        case FallbackLevel.HANDOFF:
            return _silent(Reason.LOW_CONFIDENCE_ESCALATED, draft)
        case FallbackLevel.SILENCE:
            return _silent(_silent_reason(draft), draft)
        case _:
            assert_never(level)


def _held(draft: Draft, texts: AccountTexts) -> Ending:
    """The ending of a draft that no judge has read, which waits for a person's approval."""
    withheld = _replied(Reason.REPLIED, draft, draft.reply, texts.disclosure)
    return replace(_silent(Reason.HELD_UNREAD, draft), withheld=withheld)


def _partial_ending(draft: Draft, texts: AccountTexts) -> Ending | None:
    """The supported sentences as the reply; the audit has those that were left out."""
    part, assessment = draft.part, draft.assessed
    if part is None:
        return None
    record: dict[str, Json] = {**assessment.diagnostics, "removed_sentences": list(part.removed)}
    read = sentences_within(part.text, draft.text, assessment.sentences)
    looked = replace(assessment, diagnostics=record, sentences=read)
    sent = replace(draft, text=part.text, assessment=looked)
    text = _with_text(_with_text(sent.reply, texts.missing), texts.confidence)
    return _replied(Reason.PARTIAL_REPLY, sent, text)


def _with_text(reply: str, more: str | None) -> str:
    return f"{reply}\n\n{more}" if more else reply


def _silent(code: Reason, draft: Draft) -> Ending:
    assessment = draft.assessed
    ending = silent_ending(code, assessment.explanation, confidence=assessment.confidence)
    return replace(ending, draft=draft)


def _replied(code: Reason, draft: Draft, text: str, disclosure: str | None = None) -> Ending:
    return Ending(
        reason_code=code,
        reason=draft.assessed.explanation,
        confidence=draft.assessed.confidence,
        reply=text,
        disclosure=disclosure,
        draft=draft,
    )


def _silent_reason(draft: Draft) -> Reason:
    if not draft.text:  # there was nothing to answer from, so nothing was drafted
        return Reason.NO_EVIDENCE
    named = (draft.assessed.category, *draft.assessed.failed_checks)
    return Reason.NO_ANSWER if ReplyKind.REFUSAL in named else Reason.LOW_CONFIDENCE


def _classed(code: Reason, sentence: str) -> str:
    error_class = code.spec.error_class
    return f"{error_class}: {sentence}" if error_class else sentence
