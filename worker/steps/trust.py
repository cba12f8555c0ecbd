"""How far a draft can be trusted: cheap signals first, the judge only where the policy asks for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from worker import policy
from worker.assessment import (
    Action,
    Answer,
    Evidence,
    Failure,
    NeedsJudge,
    Question,
    assess_cheap,
    better_of,
    conclude,
    log_entry,
    query_language,
    read_answer,
    refuse_early,
    stamped,
    unavailable,
    with_recheck,
)
from worker.errors import ModelRejected, ModelUnavailable
from worker.model import Assessment, Completion, Passage, StageOutcome
from worker.policy import Ending
from worker.steps.context import expected_labels
from worker.steps.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusted:
    """A draft with the assessment that was made of it."""

    draft: str
    assessment: Assessment


def refused_early(run: Run) -> Ending | None:
    """The ending when there is nothing to answer from, so that no model call is paid."""
    with run.trace.stage("evidence") as note:
        refused = refuse_early(
            query=run.case.event.text, evidence=_evidence(run, rechecks=0), policy=run.case.policy
        )
        if refused is None:
            return None
        note.outcome = StageOutcome.FLAGGED
    run.trace.assessment = refused = _audited(run, refused)
    return ending(run, Trusted(draft="", assessment=refused), early=True)


async def assessed(run: Run, draft: str, *, rechecks: int = 0) -> Trusted:
    """The assessment of a draft; the judge is asked all questions at once."""
    with run.trace.stage("assessment") as note:
        look = assess_cheap(
            query=run.case.event.text,
            evidence=_evidence(run, rechecks=rechecks),
            draft=draft,
            policy=run.case.policy,
        )
        if isinstance(look, NeedsJudge):
            answers = await asyncio.gather(
                *(_asked(run, number, q) for number, q in enumerate(look.questions, 1))
            )
            note.detail["judged"] = [answer.outcome.value for answer in answers]
            look = conclude(look, answers)
        note.detail["confidence"] = look.confidence
        note.detail["action"] = look.action
        note.outcome = StageOutcome.PASSED if look.action == Action.SEND else StageOutcome.FLAGGED
    run.trace.assessment = look = _audited(run, look)
    return Trusted(draft=draft, assessment=look)


def ending(run: Run, trusted: Trusted, *, early: bool = False) -> Ending:
    """What becomes of a draft; the author's language is told only where one of several texts is wanted."""
    language = None
    if trusted.assessment.action == Action.FALLBACK and len(run.case.account.fallback_texts) > 1:
        language = query_language(
            run.case.event.text,
            published=run.case.event.language,
            configured=run.case.account.languages or tuple(run.case.account.fallback_texts),
        )
    return policy.judged(trusted.draft, trusted.assessment, run.case.account, language=language, early=early)


def better(run: Run, before: Trusted, after: Trusted | None, kept: tuple[Passage, ...]) -> Trusted:
    """Which draft stands after a recheck; a medium one that did not improve goes out as it was (seed 001)."""
    improved = after is not None and better_of(before.assessment, after.assessment) is after.assessment
    chosen = after if improved and after is not None else before
    if not improved:
        run.trace.passages = kept
    run.trace.rechecked = (
        before.assessment.confidence,
        after.assessment.confidence if after else None,
    )
    final = chosen.assessment if improved else with_recheck(chosen.assessment)
    if final.action == Action.RECHECK:
        final = replace(final, action=Action.SEND)
    run.trace.assessment = final
    run.trace.draft_text = chosen.draft
    return Trusted(draft=chosen.draft, assessment=final)


def _audited(run: Run, found: Assessment) -> Assessment:
    """The assessment with the moment it was made; one of seed 001's design also enters its log."""
    found = replace(found, diagnostics=stamped(found.diagnostics, run.ports.clock.now()))
    if (entry := log_entry(found)) is not None:
        run.trace.confidence_log.append(entry)
    return found


def _evidence(run: Run, *, rechecks: int) -> Evidence:
    return Evidence(
        passages=run.trace.passages,
        failures=_failures(run.trace.tool_failure),
        expected_metadata=expected_labels(run.case.event),
        languages=run.case.account.languages,
        query_language=run.case.event.language,
        rechecks=rechecks,
    )


def _failures(kind: str) -> tuple[Failure, ...]:
    """The typed error of a search that left the draft without passages (seed 000's categories)."""
    if not kind:
        return ()
    return (Failure.TIMEOUT if kind == "timeout" else Failure.TOOL_FAILURE,)


async def _asked(run: Run, number: int, question: Question) -> Answer:
    """One answer of the judge; a failed call is "unavailable", never a score."""
    judge, clock = run.ports.judge, run.ports.clock
    if judge is None:
        return unavailable("no judge configured")
    started, outcome, detail = clock.monotonic(), "completed", ""
    try:
        raw = await judge.judge(question)
    except (ModelUnavailable, ModelRejected) as error:
        outcome, detail = getattr(error, "kind", "rejected"), str(error)
        return unavailable(detail)
    finally:
        elapsed_ms = (clock.monotonic() - started) * 1000
        run.trace.attempt("judge", number, outcome, duration_ms=elapsed_ms, detail=detail)
    if isinstance(raw, Completion):
        run.trace.completed("judge", raw)
        raw = raw.text
    return read_answer(raw)
