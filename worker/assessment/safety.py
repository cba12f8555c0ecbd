"""Policy ``safety`` (seed 003, Safety Mechanism): five checks, any failure answers "I don't know"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from worker.assessment.outcomes import name_of
from worker.assessment.safety_checks import (
    Check,
    RejectionReason,
    SafetyPolicy,
    citations_check,
    context_check,
    grounding_check,
    retrieval_check,
    topic_check,
)
from worker.assessment.values import Action, Case, Tier
from worker.model import Assessment, Json


def query_checks(case: Case, policy: SafetyPolicy) -> tuple[Check, ...]:
    """Checks 1 to 3, which need no answer: the query-only mode."""
    return retrieval_check(case, policy), context_check(case, policy), topic_check(case, policy)


def refuse_early(case: Case, policy: SafetyPolicy) -> Assessment | None:
    """A rejection by the query-only mode, so that no model is paid; None when an answer is worth trying."""
    checks = query_checks(case, policy)
    rejected = any(check.reasons for check in checks)
    return _assessment(case, policy, checks) if rejected else None


def conclude(case: Case, policy: SafetyPolicy) -> Assessment:
    """The assessment in full mode; this design asks no judge."""
    checks = [*query_checks(case, policy)]
    if policy.require_citations:
        checks.append(citations_check(case, policy))
    return _assessment(case, policy, (*checks, grounding_check(case, policy)))


def primary_reason(checks: Sequence[Check], *, has_passages: bool) -> RejectionReason | None:
    """Seed 003's primary reason; two independent failures are ``multiple_issues``.

    Without passages every figure is nought, and a best similarity below 0.3 makes the mean fall below 0.6
    too: the more specific reason stands for what follows from it, as the document's own examples do (Mars:
    insufficient context; cookies: off topic).
    """
    found = [reason for check in checks for reason in check.reasons]
    if RejectionReason.INSUFFICIENT_CONTEXT in found and not has_passages:
        return RejectionReason.INSUFFICIENT_CONTEXT
    if RejectionReason.OFF_TOPIC in found:
        found = [reason for reason in found if reason is not RejectionReason.LOW_CONFIDENCE]
    return found[0] if len(found) == 1 else (RejectionReason.MULTIPLE_ISSUES if found else None)


def _assessment(case: Case, policy: SafetyPolicy, checks: Sequence[Check]) -> Assessment:
    reason = primary_reason(checks, has_passages=bool(case.evidence.passages))
    measured = [check.score for check in checks if check.score is not None]
    confidence = round(sum(measured) / len(measured), 10) if measured else 0.0
    passed = tuple(check.name for check in checks if not check.reasons)
    failed = tuple(check.name for check in checks if check.reasons)
    action = policy.low_action if reason else Action.SEND
    explanation = "; ".join(f"{check.name}: {check.detail}" for check in checks if check.reasons)
    return Assessment(
        policy=name_of("safety", policy.version),
        confidence=confidence,
        tier=Tier.LOW if reason else Tier.HIGH,
        action=action,
        category=reason or "",
        passed_checks=passed,
        failed_checks=failed,
        reasons=tuple(r.value for check in checks for r in check.reasons),
        signals={check.name: check.score for check in checks if check.score is not None},
        explanation=explanation or "All checks passed.",
        diagnostics=_result(reason, confidence, checks, explanation),
        fallback_text=policy.dont_know if action is Action.FALLBACK else None,
    )


def _result(
    reason: RejectionReason | None, confidence: float, checks: Sequence[Check], explanation: str
) -> Mapping[str, Json]:
    """Seed 003's ``SafetyCheckResult``, every field under its published name."""
    return {
        "should_reject": reason is not None,
        "rejection_reason": reason.value if reason else None,
        "confidence_score": confidence,
        "passed_checks": [check.name for check in checks if not check.reasons],
        "failed_checks": [check.name for check in checks if check.reasons],
        "explanation": explanation or "All checks passed.",
        "diagnostic_info": {c.name: {"passed": not c.reasons, "details": c.detail} for c in checks},
    }
