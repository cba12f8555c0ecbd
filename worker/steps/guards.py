"""The guards of message and reply: scope, rules, moderation."""

from __future__ import annotations

from typing import TypeAlias

from worker import contract, endings, moderation, scope
from worker.endings import MESSAGE, REPLY, Ending, GuardedText
from worker.errors import EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.model import AttemptOutcome, FailurePolicy, ModerationScores, Stage, StageOutcome
from worker.ports import Moderator
from worker.rules.screening import rule_findings
from worker.steps.run import Run

NoResult: TypeAlias = "ModerationRejected | ModerationUnavailable | EndpointMisconfigured"


def scope_closed(run: Run) -> Ending | None:
    """The ending when the account's settings or the event's age exclude an answer."""
    with run.trace.stage(Stage.SCOPE) as note:
        ending = scope.closed_ending(run.case.event, run.case.account, run.ports.clock.now())
        note.outcome = StageOutcome.FLAGGED if ending else StageOutcome.PASSED
    return ending


def too_late(run: Run) -> Ending | None:
    """The ending when the message became too old during a hold or while the answer was made."""
    return scope.late_ending(run.case.event, run.case.account, run.ports.clock.now())


async def overtaken(run: Run) -> Ending | None:
    """The ending when events came while the answer was made that forbid it."""
    if run.ports.arrivals is None:
        return None
    newer = await run.ports.arrivals.newer(run.case.event)
    return contract.overtaken_ending(run.case.event, newer, run.case.account)


async def merged(run: Run) -> Ending | None:
    """The ending of a message whose author wrote again within the account's window; waits for that.

    A message that is older than the window, as in a backlog, does not wait.
    """
    event, account, clock = run.case.event, run.case.account, run.ports.clock
    if run.ports.arrivals is None or not account.burst_window_s:
        return None
    ending = contract.merged_ending(event, await run.ports.arrivals.newer(event), account)
    wait_s = contract.burst_wait_s(event, account, clock.now())
    if ending is not None or not wait_s:
        return ending
    await clock.sleep(wait_s)
    return contract.merged_ending(event, await run.ports.arrivals.newer(event), account)


def rule_hit(run: Run, text: str, subject: GuardedText) -> Ending | None:
    """The ending when one of the account's rules matches."""
    if subject is REPLY and not run.case.account.rules_on_reply:
        return None
    with run.trace.stage(subject.rules_stage) as note:
        found = rule_findings(run.case.rules, text, stage=subject.rules_stage)
        if not found:
            return None
        note.outcome = StageOutcome.FLAGGED
        note.detail["matched_rule"] = found[0].matched_rule
    run.trace.found(*found)
    return endings.blocked_ending(subject.rule, found[0])


async def moderation_hit(run: Run, text: str, subject: GuardedText) -> Ending | None:
    """The ending when the moderation API flags a text, or gives no result and the text may not pass."""
    if run.ports.moderator is None:
        return None
    with run.trace.stage(subject.moderation_stage) as note:
        outcome = await _scores(run, run.ports.moderator, text, subject)
        if not isinstance(outcome, ModerationScores):
            note.outcome = StageOutcome.FAILED
            note.detail["moderated"] = False
            return _unmoderated(run, subject, outcome)
        run.trace.models["moderation"] = outcome.model
        note.detail["highest"] = moderation.margins(outcome, run.case.account)
        finding = moderation.finding(outcome, run.case.account, stage=subject.moderation_stage)
        if finding is None:
            return None
        note.outcome = StageOutcome.FLAGGED
        note.detail["matched_rule"] = finding.matched_rule
    run.trace.found(finding)
    return endings.blocked_ending(subject.flagged, finding)


async def _scores(
    run: Run, moderator: Moderator, text: str, subject: GuardedText
) -> ModerationScores | NoResult:
    """Scores, or the final error; a hold waits here, in process, until the event is ``hold_max_s`` old."""
    images = run.case.event.attachments if subject is MESSAGE else ()
    clock, number = run.ports.clock, 0
    while True:
        number += 1
        started = clock.monotonic()
        try:
            return await moderator.moderate(text, images)
        except ModerationRejected as error:
            return error
        except (ModerationUnavailable, EndpointMisconfigured) as error:
            wait_s = _wait_s(run, number, error)
            run.trace.attempt(
                subject.moderation_stage,
                number,
                AttemptOutcome(error.kind),
                duration_ms=(clock.monotonic() - started) * 1000,
                waited_s=wait_s or 0.0,
                detail=str(error),
            )
            if wait_s is None:
                return error
            await clock.sleep(wait_s)


def _wait_s(run: Run, number: int, error: ModerationUnavailable | EndpointMisconfigured) -> float | None:
    """Seconds until the next call; a misconfigured API is called again only by a hold."""
    account = run.case.account
    if isinstance(error, EndpointMisconfigured) and account.moderation_failure is not FailurePolicy.HOLD:
        return None
    age_s = (run.ports.clock.now() - run.case.event.received_at).total_seconds()
    return moderation.pause_s(account, number, age_s, error.retry_after_s)


def _unmoderated(run: Run, subject: GuardedText, error: NoResult) -> Ending | None:
    """The ending without a result; only an outage lets a text pass, and only where the account allows it."""
    run.trace.degraded = True
    if isinstance(error, EndpointMisconfigured):
        return endings.silent_ending(subject.misconfigured, str(error), confidence=0.0)
    if isinstance(error, ModerationRejected):
        return endings.silent_ending(subject.rejected, str(error), confidence=0.0)
    match run.case.account.moderation_failure:
        case FailurePolicy.ALLOW:
            return None
        case FailurePolicy.BLOCK:
            return endings.silent_ending(subject.unavailable, str(error), confidence=0.0)
        case FailurePolicy.HOLD:
            return endings.silent_ending(subject.timed_out, f"held too long, last: {error}", confidence=0.0)
