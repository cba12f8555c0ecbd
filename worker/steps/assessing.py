"""The assessment of a draft: one reading by the judge where the policy wants one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from worker import endings, scope
from worker.assessment import (
    DraftCase,
    Evidence,
    FallbackLevel,
    Judge,
    Policy,
    ReadingOutcome,
    ReadingRequest,
    RunFailure,
    assess,
    better_assessment,
    early_refusal,
    in_test_mode,
    log_entry,
    supported_part,
    text_for_author,
    thresholds_of,
    with_recheck,
    with_suggestions,
    with_thresholds,
    with_timestamp,
    without_sentences,
)
from worker.business_hours import local_time
from worker.endings import AccountTexts, Draft, Ending
from worker.errors import ModelRejected, ModelUnavailable
from worker.masking import Masker
from worker.model import (
    Action,
    Assessment,
    AttemptOutcome,
    CallPurpose,
    Completion,
    Json,
    Message,
    Stage,
    StageOutcome,
    Tier,
)
from worker.reply_sentences import sentences_within
from worker.steps.context import expected_labels
from worker.steps.run import Run

PART_SENT_AT: Final = 0.5
"""Support of a sentence from which it may be part of a partial reply: more likely right than wrong."""
IRRELEVANT: Final = frozenset({"irrelevant", "off_topic"})
"""Checks and categories of a draft that answers something else: no part of it is sent."""


def refused_early(run: Run, draft: Draft, history: tuple[Message, ...]) -> Ending | None:
    """The ending when there is nothing to answer from, so that no model call is paid."""
    with run.trace.stage(Stage.EVIDENCE) as note:
        evidence = _evidence(run, draft, history, rechecks=0)
        policy, set_here = _policy(run, evidence)
        refused = early_refusal(query=run.case.event.text, evidence=evidence, policy=policy)
        if refused is None:
            return None
        refused = _with_record(refused, set_here)
        note.outcome = StageOutcome.FLAGGED
    refused = _audited(run, draft, replace(refused, measured=False))
    return ending(run, replace(draft, assessment=refused))


async def assessed(run: Run, draft: Draft, history: tuple[Message, ...], *, rechecks: int = 0) -> Draft:
    """The draft with its assessment, from one reading by the judge."""
    with run.trace.stage(Stage.ASSESSMENT) as note:
        evidence = _evidence(run, draft, history, rechecks=rechecks)
        policy, set_here = _policy(run, evidence)
        found = await assess(
            query=run.case.event.text,
            evidence=evidence,
            draft=draft.text,
            policy=policy,
            judge=_TracedJudge(judge=run.ports.judge, run=run) if run.ports.judge else None,
            verdicts=FallbackLevel.PARTIAL in run.case.delivery.fallback_levels,
        )
        assessment = _with_record(found.assessment, set_here)
        if run.case.policy.test_mode and assessment.category != "disabled":
            assessment = in_test_mode(assessment)
        if found.reading is not None:
            note.detail["judged"] = found.reading.outcome.value
            run.trace.degraded |= found.reading.outcome is ReadingOutcome.UNAVAILABLE
        note.detail["confidence"] = assessment.confidence
        note.detail["action"] = assessment.action
        intended = assessment.intended_action or assessment.action
        note.outcome = StageOutcome.PASSED if intended is Action.SEND else StageOutcome.FLAGGED
    draft = replace(draft, assessment=_audited(run, draft, assessment), reading=found.reading)
    return draft if run.case.policy.test_mode else _without_removed(draft)


def _without_removed(draft: Draft) -> Draft:
    """A draft that is sent without the courtesies that only the judge knows; the audit has them."""
    checked, found = draft.reading.checked if draft.reading else None, draft.assessed
    if checked is None or not checked.removed or found.action is not Action.SEND:
        return draft
    text = without_sentences(draft.text, checked.removed)
    removed: list[Json] = [draft.text[slice(*span)].strip() for span in checked.removed]
    found = replace(
        found,
        sentences=sentences_within(text, draft.text, found.sentences),
        diagnostics={**found.diagnostics, "removed_sentences": removed},
    )
    return replace(draft, text=text, assessment=found)


def _policy(run: Run, evidence: Evidence) -> tuple[Policy, dict[str, float]]:
    """The policy for this event, and the thresholds that its conditions set."""
    case = DraftCase(query=run.case.event.text, evidence=evidence, draft="")
    values = thresholds_of(case, run.case.delivery.thresholds)
    return with_thresholds(run.case.policy, values), values


def _with_record(found: Assessment, set_here: Mapping[str, float]) -> Assessment:
    """The assessment whose record names the thresholds of this event, if conditions set any."""
    if not set_here:
        return found
    return replace(found, diagnostics={**found.diagnostics, "thresholds": dict(set_here)})


def ending(run: Run, draft: Draft) -> Ending:
    """The ending of a draft; the author's language is detected only where it selects a text."""
    draft = _with_part(run, draft)
    return endings.assessed_ending(draft, _texts(run, draft), run.case.delivery)


def _with_part(run: Run, draft: Draft) -> Draft:
    """The draft with its supported part, where the account wants to send one."""
    assessment, delivery = draft.assessed, run.case.delivery
    trusted = assessment.action in (Action.SEND, Action.RECHECK)
    if (
        trusted
        or not assessment.measured
        or not IRRELEVANT.isdisjoint({assessment.category, *assessment.failed_checks})
    ):
        return draft
    if FallbackLevel.PARTIAL not in delivery.fallback_levels:
        return draft
    evidence = _evidence(run, draft, (), rechecks=0)
    part = supported_part(
        DraftCase(query=run.case.event.text, evidence=evidence, draft=draft.text),
        draft.reading,
        min_share=delivery.partial_min_share,
        send_at=PART_SENT_AT,
    )
    return replace(draft, part=part)


def _texts(run: Run, draft: Draft) -> AccountTexts:
    """The account's texts that this reply may need, in the author's language."""
    assessment, delivery = draft.assessed, run.case.delivery
    sent = assessment.action in (Action.SEND, Action.RECHECK)
    tier = Tier.MEDIUM if draft.part else assessment.tier
    with_confidence = delivery.tell_confidence and assessment.measured and (sent or draft.part)
    by_tier = {
        language: text for language, texts in delivery.confidence_texts.items() if (text := texts.get(tier))
    }
    reply = draft.text if sent or draft.part else ""
    return AccountTexts(
        disclosure=text_of(run, run.case.account.disclosure_texts, reply=reply),
        fallback=None if sent else text_of(run, run.case.account.fallback_texts, earlier=draft.said_before),
        missing=text_of(run, delivery.missing_texts, reply=reply) if draft.part else None,
        confidence=text_of(run, by_tier, reply=reply) if with_confidence else None,
    )


def text_of(run: Run, texts: Mapping[str, str], *, reply: str = "", earlier: str = "") -> str | None:
    """The text in the language of the event's author, who gets it with the reply; None without a text."""
    event, known = run.case.event, run.case.account.languages
    return text_for_author(
        texts, event.text, published=event.language, languages=known, reply=reply, earlier=earlier
    )


def better(before: Draft, after: Draft | None) -> Draft:
    """The draft that stands after a recheck; a medium one that did not improve is sent (Guardrail)."""
    improved = after is not None and better_assessment(before.assessed, after.assessed) is after.assessed
    chosen = after if improved and after is not None else before
    final = chosen.assessed if improved else with_recheck(chosen.assessed)
    if final.action is Action.RECHECK:
        final = replace(final, action=Action.SEND)
    rechecked = (before.assessed.confidence, after.assessed.confidence if after else None)
    loser = before if chosen is after else after
    return replace(chosen, assessment=final, rechecked=rechecked, loser=loser)


def _audited(run: Run, draft: Draft, found: Assessment) -> Assessment:
    """The assessment with its time and topics; some designs keep a log."""
    found = with_suggestions(found, query=run.case.event.text, passages=draft.passages)
    if draft.models_asked:
        asked: list[Json] = [dict(each) for each in draft.models_asked]
        found = replace(found, diagnostics={**found.diagnostics, "models": asked})
    found = replace(found, diagnostics=with_timestamp(found.diagnostics, run.ports.clock.now()))
    if (entry := log_entry(found)) is not None:
        run.trace.confidence_log.append(entry)
    return found


def _evidence(run: Run, draft: Draft, history: tuple[Message, ...], *, rechecks: int) -> Evidence:
    return Evidence(
        passages=draft.passages,
        failures=_failures(draft.search_failure),
        expected_metadata=expected_labels(run.case.event),
        languages=run.case.account.languages,
        query_language=run.case.event.language,
        event_metadata=run.case.event.metadata,
        rechecks=rechecks,
        history=history,
        written=local_time(run.case.account, run.case.event.written_at),
        other_drafts=draft.others,
        documents_stored=not draft.nothing_stored,
    )


def _failures(kind: str) -> tuple[RunFailure, ...]:
    """The typed error of a search that left the draft without passages (FailsafeNode's categories)."""
    if not kind:
        return ()
    return (RunFailure.TIMEOUT if kind == "timeout" else RunFailure.TOOL_FAILURE,)


def _masked(masker: Masker, request: ReadingRequest) -> ReadingRequest:
    def masked(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        return tuple((masker.mask(one), masker.mask(other)) for one, other in pairs)

    return replace(
        request,
        question=masker.mask(request.question),
        conversation=masked(request.conversation),
        passages=masked(request.passages),
        sentences=tuple(map(masker.mask, request.sentences)),
    )


@dataclass(slots=True, kw_only=True)
class _TracedJudge:
    """The judge of a run; the trace records time, outcome and tokens of every call.

    Attributes:
        calls: attempts made.
    """

    judge: Judge
    run: Run
    calls: int = 0

    async def read(self, request: ReadingRequest) -> Completion:
        """The judge's raw answer, with its placeholders restored; an outage is retried as for a draft.

        Raises:
            ModelUnavailable: as the last attempt.
            ModelRejected: the request was refused.
        """
        masker = self.run.masker
        masked = _masked(masker, request) if masker.enabled else request
        while True:
            answer, wait_s = await self._attempt(masked)
            if answer is not None:
                self.run.trace.completed("judge", answer)
                return replace(answer, text=masker.restore(answer.text).text) if masker.enabled else answer
            await self.run.ports.clock.sleep(wait_s)

    async def _attempt(self, request: ReadingRequest) -> tuple[Completion | None, float]:
        """The raw answer, or None and the seconds until the next attempt."""
        clock, outcome, detail, wait_s = self.run.ports.clock, AttemptOutcome.COMPLETED, "", 0.0
        answer: Completion | None = None
        self.calls += 1
        number, started = self.calls, clock.monotonic()
        try:
            answer = await self.judge.read(request)
        except asyncio.CancelledError:
            outcome = AttemptOutcome.CANCELLED
            raise
        except (ModelUnavailable, ModelRejected) as error:
            outcome, detail = AttemptOutcome(error.kind), str(error)
            if (wait := self._wait_s(error)) is None:
                raise
            wait_s = wait
        finally:
            elapsed_ms, attempts = (clock.monotonic() - started) * 1000, self.run.ports.retry.attempts
            facts: dict[str, float | str] = {
                "duration_ms": elapsed_ms,
                "waited_s": wait_s,
                "detail": detail,
                "total": attempts,
            }
            self.run.trace.attempt(Stage.JUDGE, number, outcome, **facts)
            self.run.trace.called(CallPurpose.JUDGE, Stage.JUDGE, started, answer, outcome=outcome)
        return answer, wait_s

    def _wait_s(self, error: ModelUnavailable | ModelRejected) -> float | None:
        """Seconds until the next attempt; None for the last one, and for a check, whose program waits."""
        case, ports = self.run.case, self.run.ports
        if isinstance(error, ModelRejected) or error.kind == AttemptOutcome.CIRCUIT_OPEN:
            return None
        wait_s = ports.retry.wait_s(self.calls, error.retry_after_s)
        if wait_s is None or case.event.check is not None:
            return None
        again_at = ports.clock.now() + timedelta(seconds=wait_s)
        return wait_s if again_at <= scope.last_moment(case.event, case.account) else None
