"""The log lines of an event's outcome."""

from __future__ import annotations

import structlog

from db.commits.stored_event import Recorded
from db.dead_letters import DeadLetter
from worker.model import Decision, StageOutcome
from worker.reasons import ErrorClass, Reason
from worker.trace import LOGGED_AT_ONCE

log = structlog.get_logger(__name__)


def log_dead_letter(letter: DeadLetter) -> None:
    """Log a payload that became a dead letter."""
    field = letter.why.field.partition(".")[0]  # deeper parts of the path may hold user text
    log.warning("payload_buried", entry_id=letter.entry_id, reason_code=letter.why.code, field=field)


def log_decision(decision: Decision, recorded: Recorded, starts: int) -> None:
    """Log the canonical line of an event, and one named line per silent failure, block and failed attempt."""
    event = decision.event
    ids = {
        "user_id": event.user_id,
        "event_id": event.event_id,
        "entry_id": event.entry_id,
        "decision_id": str(decision.decision_id),
    }
    for attempt in decision.attempts:
        if attempt.outcome != "completed" and attempt.stage not in LOGGED_AT_ONCE:
            log.warning(
                "attempt_failed", stage=attempt.stage, number=attempt.number, kind=attempt.outcome, **ids
            )
    if decision.quarantine and decision.matched_rule is not None:
        log.info("exchange_removed", matched_rule=decision.matched_rule, **ids)
    if decision.matched_rule is not None:
        log.info("event_blocked", matched_rule=decision.matched_rule, reason_code=decision.reason_code, **ids)
    error_class = Reason(decision.reason_code).spec.error_class
    if error_class is ErrorClass.LLM_ERROR:
        log.error("llm_error", reason_code=decision.reason_code, attempts=len(decision.attempts), **ids)
    if error_class is not None:
        log.info("silent_failure", error_class=error_class, reason_code=decision.reason_code, **ids)
    log.info(
        "event_decided",
        decision=decision.kind,
        reason_code=decision.reason_code,
        matched_rule=decision.matched_rule,
        confidence=round(decision.confidence, 4),
        policy=decision.assessment.policy if decision.assessment else None,
        category=decision.assessment.category if decision.assessment else None,
        rejection_reason=decision.rejection_reason,
        test_mode=decision.assessment is not None and decision.assessment.intended_action is not None,
        degraded=decision.degraded,
        recorded=recorded,
        starts=starts,
        rules_version=decision.rules_version,
        attempts=len(decision.attempts),
        tokens=decision.tokens.prompt + decision.tokens.completion,
        stages={str(stage.stage): stage.duration_ms for stage in decision.stages},
        failed_stages=[stage.stage for stage in decision.stages if stage.outcome is StageOutcome.FAILED],
        waited_ms=round((decision.decided_at - event.received_at).total_seconds() * 1000),
        **ids,
    )
