"""The guards of message and reply: scope, rules, moderation."""

from __future__ import annotations

from worker import moderation, policy, scope
from worker.errors import ModerationRejected, ModerationUnavailable
from worker.model import FailurePolicy, ModerationScores, StageOutcome
from worker.policy import MESSAGE, REPLY, Ending, Subject
from worker.ports import Moderator
from worker.rules.screening import findings
from worker.steps.run import Run


def scope_closed(run: Run) -> Ending | None:
    """The ending when no AI may answer here at all."""
    with run.trace.stage("scope") as note:
        ending = scope.closed(run.case.event, run.case.account, run.ports.clock.now())
        note.outcome = StageOutcome.FLAGGED if ending else StageOutcome.PASSED
    return ending


def too_late(run: Run) -> Ending | None:
    """The ending when the answer took too long to be of use."""
    return scope.late(run.case.event, run.case.account, run.ports.clock.now())


def rule_hit(run: Run, text: str, subject: Subject) -> Ending | None:
    """The ending when one of the account's rules matches."""
    if subject is REPLY and not run.case.account.rules_on_reply:
        return None
    name = f"rules{subject.suffix}"
    with run.trace.stage(name) as note:
        found = findings(run.case.rules, text, stage=name)
        if not found:
            return None
        note.outcome = StageOutcome.FLAGGED
        note.detail["matched_rule"] = found[0].matched_rule
    run.trace.found(*found)
    return policy.blocked(subject.rule, found[0])


async def moderation_hit(run: Run, text: str, subject: Subject) -> Ending | None:
    """The ending when the moderation API flags a text, or has no verdict and the account wants silence."""
    if run.ports.moderator is None:
        return None
    name = f"moderation{subject.suffix}"
    with run.trace.stage(name) as note:
        outcome = await _scores(run, run.ports.moderator, text, subject)
        if isinstance(outcome, ModerationRejected | ModerationUnavailable):
            note.outcome = StageOutcome.FAILED
            note.detail["moderated"] = False
            return _unmoderated(run, subject, outcome)
        run.trace.models["moderation"] = outcome.model
        note.detail["highest"] = moderation.margins(outcome, run.case.account)
        finding = moderation.finding(outcome, run.case.account, stage=name)
        if finding is None:
            return None
        note.outcome = StageOutcome.FLAGGED
        note.detail["matched_rule"] = finding.matched_rule
    run.trace.found(finding)
    return policy.blocked(subject.flagged, finding)


async def _scores(
    run: Run, moderator: Moderator, text: str, subject: Subject
) -> ModerationScores | ModerationRejected | ModerationUnavailable:
    """Scores, or the error that stays: a hold waits here, in process, until the event is too old for it."""
    images = run.case.event.attachments if subject is MESSAGE else ()
    clock, number = run.ports.clock, 0
    while True:
        number += 1
        started = clock.monotonic()
        try:
            return await moderator.moderate(text, images)
        except ModerationRejected as error:
            return error
        except ModerationUnavailable as error:
            age_s = (clock.now() - run.case.event.received_at).total_seconds()
            wait_s = moderation.pause_s(run.case.account, number, age_s, error.retry_after_s)
            run.trace.attempt(
                f"moderation{subject.suffix}",
                number,
                error.kind,
                duration_ms=(clock.monotonic() - started) * 1000,
                waited_s=wait_s or 0.0,
                detail=str(error),
            )
            if wait_s is None:
                return error
            await clock.sleep(wait_s)


def _unmoderated(
    run: Run, subject: Subject, error: ModerationRejected | ModerationUnavailable
) -> Ending | None:
    run.trace.degraded = True
    if isinstance(error, ModerationRejected):
        return policy.silent(subject.rejected, str(error), confidence=0.0)
    match run.case.account.moderation_failure:
        case FailurePolicy.ALLOW:
            return None
        case FailurePolicy.BLOCK:
            return policy.silent(subject.unavailable, str(error), confidence=0.0)
        case FailurePolicy.HOLD:
            return policy.silent(subject.timed_out, f"held too long, last: {error}", confidence=0.0)
