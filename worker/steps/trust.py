"""The assessment of a candidate: cheap signals first, the judge only where the policy asks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from worker import endings
from worker.assessment import (
    Evidence,
    Judge,
    JudgeQuestion,
    RunFailure,
    assess,
    better_assessment,
    confidence_log_entry,
    early_refusal,
    query_language,
    with_recheck,
    with_suggestions,
    with_timestamp,
)
from worker.endings import Candidate, Ending
from worker.errors import ModelRejected, ModelUnavailable
from worker.model import Action, Assessment, AttemptOutcome, Completion, Stage, StageOutcome
from worker.steps.context import expected_labels
from worker.steps.run import Run


def refused_early(run: Run, candidate: Candidate) -> Ending | None:
    """The ending when there is nothing to answer from, so that no model call is paid."""
    with run.trace.stage(Stage.EVIDENCE) as note:
        refused = early_refusal(
            query=run.case.event.text, evidence=_evidence(run, candidate, rechecks=0), policy=run.case.policy
        )
        if refused is None:
            return None
        note.outcome = StageOutcome.FLAGGED
    refused = _audited(run, candidate, replace(refused, measured=False))
    return ending(run, replace(candidate, assessment=refused))


async def assessed(run: Run, candidate: Candidate, *, rechecks: int = 0) -> Candidate:
    """The candidate with the assessment of its draft; the judge is asked all questions at once."""
    with run.trace.stage(Stage.ASSESSMENT) as note:
        found = await assess(
            query=run.case.event.text,
            evidence=_evidence(run, candidate, rechecks=rechecks),
            draft=candidate.text,
            policy=run.case.policy,
            judge=_TracedJudge(asks=run.ports.judge, run=run) if run.ports.judge else None,
        )
        look = found.assessment
        if found.answers:
            note.detail["judged"] = [answer.outcome.value for answer in found.answers]
        note.detail["confidence"] = look.confidence
        note.detail["action"] = look.action
        note.outcome = StageOutcome.PASSED if look.action is Action.SEND else StageOutcome.FLAGGED
    return replace(candidate, assessment=_audited(run, candidate, look))


def ending(run: Run, candidate: Candidate) -> Ending:
    """The ending of a candidate; the author's language is detected only where it selects a text."""
    account, language = run.case.account, None
    texts = account.disclosure_texts
    if candidate.assessed.action is Action.FALLBACK:
        texts = {**texts, **account.fallback_texts}
    if len(texts) > 1:
        language = query_language(
            run.case.event.text,
            published=run.case.event.language,
            configured=account.languages or tuple(texts),
        )
    return endings.assessed_ending(candidate, account, language=language)


def better(before: Candidate, after: Candidate | None) -> Candidate:
    """The candidate that stands after a recheck; a medium one that did not improve is sent (Guardrail)."""
    improved = after is not None and better_assessment(before.assessed, after.assessed) is after.assessed
    chosen = after if improved and after is not None else before
    final = chosen.assessed if improved else with_recheck(chosen.assessed)
    if final.action is Action.RECHECK:
        final = replace(final, action=Action.SEND)
    rechecked = (before.assessed.confidence, after.assessed.confidence if after else None)
    return replace(chosen, assessment=final, rechecked=rechecked)


def _audited(run: Run, candidate: Candidate, found: Assessment) -> Assessment:
    """The assessment with its time and topics; one of Guardrail's design also enters the confidence log."""
    found = with_suggestions(found, query=run.case.event.text, passages=candidate.passages)
    found = replace(found, diagnostics=with_timestamp(found.diagnostics, run.ports.clock.now()))
    if (entry := confidence_log_entry(found)) is not None:
        run.trace.confidence_log.append(entry)
    return found


def _evidence(run: Run, candidate: Candidate, *, rechecks: int) -> Evidence:
    return Evidence(
        passages=candidate.passages,
        failures=_failures(candidate.search_failure),
        expected_metadata=expected_labels(run.case.event),
        languages=run.case.account.languages,
        query_language=run.case.event.language,
        rechecks=rechecks,
    )


def _failures(kind: str) -> tuple[RunFailure, ...]:
    """The typed error of a search that left the draft without passages (FailsafeNode's categories)."""
    if not kind:
        return ()
    return (RunFailure.TIMEOUT if kind == "timeout" else RunFailure.TOOL_FAILURE,)


@dataclass(slots=True, kw_only=True)
class _TracedJudge:
    """The judge of a run; the trace records time, outcome and tokens of every call."""

    asks: Judge
    run: Run
    asked: int = 0

    async def judge(self, question: JudgeQuestion) -> str | float | Completion:
        """The judge's raw answer.

        Raises:
            ModelUnavailable: no usable answer this time.
            ModelRejected: the request was refused.
        """
        clock, outcome, detail = self.run.ports.clock, AttemptOutcome.COMPLETED, ""
        self.asked += 1
        number, started = self.asked, clock.monotonic()
        try:
            raw = await self.asks.judge(question)
        except (ModelUnavailable, ModelRejected) as error:
            outcome, detail = AttemptOutcome(error.kind), str(error)
            raise
        finally:
            elapsed_ms = (clock.monotonic() - started) * 1000
            self.run.trace.attempt(Stage.JUDGE, number, outcome, duration_ms=elapsed_ms, detail=detail)
        if isinstance(raw, Completion):
            self.run.trace.completed("judge", raw)
        return raw
