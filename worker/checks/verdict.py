"""The verdict on a check, from its decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from worker.answer_check import AnswerPorts, answer_run
from worker.checks.given import given_history, given_passages
from worker.concluding import decision_of
from worker.endings import silent_ending
from worker.model import (
    CheckedQuote,
    CheckedSentence,
    CheckOutcome,
    CheckVerdict,
    Decision,
    DecisionKind,
    Passage,
    Quote,
)
from worker.payload.check_schema import CheckRequest
from worker.ports import Clock
from worker.reasons import FAILURE_FAMILIES, Reason, ReasonFamily
from worker.reply_sentences import delivered_sentence, quote_text
from worker.steps.checking import content_ending, given_draft, ruled_ending
from worker.steps.run import EventCase

PASSED: Final = frozenset({Reason.MESSAGE_CHECKED, Reason.DRAFT_CHECKED, Reason.REPLIED})
"""Endings after which the message may be answered, or the draft sent as it is."""


def outcome_of(decision: Decision) -> CheckOutcome:
    """What the program should do: the decision as its reason says, unless the account asks for a person."""
    reason = Reason(decision.reason_code)
    if reason in PASSED:
        lacks = decision.assessment is not None and "removed_sentences" in decision.assessment.diagnostics
        return CheckOutcome.REWRITE if lacks else CheckOutcome.ALLOW
    if decision.kind is DecisionKind.ESCALATE:
        return CheckOutcome.HOLD
    if decision.kind is DecisionKind.RESPOND:
        return CheckOutcome.REWRITE
    return CheckOutcome.BLOCK if reason.spec.family is ReasonFamily.BLOCKED else CheckOutcome.HOLD


def could_not_be_made(decision: Decision) -> bool:
    """Whether a check ended for an outage or its deadline, so that ``fail_open`` applies."""
    reason = Reason(decision.reason_code)
    unread = reason is Reason.HELD_UNREAD and decision.degraded
    return unread or reason.spec.family in FAILURE_FAMILIES


def verdict_of(decision: Decision, *, shadow: bool, fail_open: bool) -> CheckVerdict:
    """The verdict; ``shadow`` and ``fail_open`` allow what the decision alone would not."""
    outcome = outcome_of(decision)
    opened = fail_open and not shadow and outcome is not CheckOutcome.ALLOW and could_not_be_made(decision)
    given = decision.event.check.draft if decision.event.check else None
    assessment = decision.assessment
    verdict = CheckVerdict(
        id=decision.event.event_id,
        user_id=decision.event.user_id,
        decision_id=str(decision.decision_id),
        decided_at=decision.decided_at,
        verdict=outcome,
        reason_code=str(decision.reason_code),
        reason=decision.reason,
        confidence=decision.confidence,
        text=decision.reply,
        matched_rule=decision.matched_rule,
        categories=dict(_categories(decision)),
        tier=assessment.tier.value if assessment and assessment.measured else None,
        sentences=tuple(_sentences(decision)),
        degraded=decision.degraded,
    )
    if outcome is CheckOutcome.ALLOW or not (shadow or opened):
        return verdict
    return replace(verdict, verdict=CheckOutcome.ALLOW, would=outcome, failed_open=opened, text=given)


def late_decision(case: EventCase, request: CheckRequest, clock: Clock, *, deadline_s: float) -> Decision:
    """The decision of a check whose deadline passed; rules and the draft's content need no call."""
    run = answer_run(case, AnswerPorts(clock=clock, moderator=None))
    sentence = f"the check took longer than its deadline of {deadline_s * 1000:.0f} ms"
    late = silent_ending(Reason.TOO_LATE, sentence, confidence=0.0, degraded=True)
    late = replace(late, draft=given_draft(case.event))
    found = ruled_ending(run) or content_ending(run, given_passages(request), given_history(request))
    return decision_of(run.trace, found or late)


def stored_check(decision: Decision, verdict: CheckVerdict) -> Decision:
    """The decision as it is stored: nothing is sent, and no conversation is handed to people."""
    return replace(
        decision,
        reply=None,
        disclosure=None,
        escalation=None,
        people_until=None,
        remember=False,
        check=verdict,
    )


def _categories(decision: Decision) -> Iterator[tuple[str, float]]:
    """The scores that moderation of message and draft stored, the highest of each category last."""
    found: list[tuple[str, float]] = []
    for stage in decision.stages:
        scores = stage.detail.get("highest")
        for category, each in scores.items() if isinstance(scores, dict) else ():
            score = each.get("score") if isinstance(each, dict) else None
            if isinstance(score, float | int):
                found.append((category, float(score)))
    yield from sorted(found, key=lambda each: each[1])


def _sentences(decision: Decision) -> Iterator[CheckedSentence]:
    """What a judge read in the draft, or in the part of it that is the verdict's text."""
    draft = decision.draft or given_draft(decision.event, decision.passages).text
    for each in decision.assessment.sentences if decision.assessment else ():
        if text := delivered_sentence(draft[each.start : each.end], decision.passages):
            yield CheckedSentence(
                text=text,
                verdict=each.verdict.value,
                support=each.support,
                quotes=tuple(
                    _quote(quote, decision.passages[quote.passage - 1])
                    for quote in each.quotes
                    if quote.passage <= len(decision.passages)
                ),
                disagreements=each.disagreements,
            )


def _quote(quote: Quote, passage: Passage) -> CheckedQuote:
    return CheckedQuote(
        passage_id=passage.passage_id,
        number=passage.number or quote.passage,
        text=quote_text(quote, passage),
    )
