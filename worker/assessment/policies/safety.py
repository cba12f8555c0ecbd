"""Policy ``safety`` (Safety Mechanism): five checks; after any failure the answer is "I don't know"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from worker.assessment.non_answers import is_non_answer
from worker.assessment.policies.design import Design, MeasuredLimit
from worker.assessment.policies.outcomes import policy_name
from worker.assessment.policies.safety_checks import (
    RejectionReason,
    SafetyCheck,
    SafetyPolicy,
    answer_check,
    citations_check,
    context_check,
    grounding_check,
    retrieval_check,
    topic_check,
)
from worker.assessment.values import DraftCase, ReplyKind
from worker.model import Action, Assessment, Json, Tier


def query_checks(case: DraftCase, policy: SafetyPolicy) -> tuple[SafetyCheck, ...]:
    """Checks 1 to 3, which need no draft: the query-only mode."""
    return retrieval_check(case, policy), context_check(case, policy), topic_check(case, policy)


def early_refusal(case: DraftCase, policy: SafetyPolicy) -> Assessment | None:
    """The rejection by the query-only mode before a model is paid; None when a draft should be generated."""
    checks = query_checks(case, policy)
    rejected = any(check.reasons for check in checks)
    return _assessment(case, policy, checks) if rejected else None


def assess_draft(case: DraftCase, policy: SafetyPolicy) -> Assessment:
    """The assessment in full mode; this design asks no judge."""
    checks = [*query_checks(case, policy)]
    if is_non_answer(case.draft):
        found = _assessment(case, policy, (*checks, answer_check()))
        failed = (*found.failed_checks, ReplyKind.REFUSAL)
        return replace(found, confidence=0.0, category=ReplyKind.REFUSAL, failed_checks=failed)
    if policy.require_citations:
        checks.append(citations_check(case, policy))
    return _assessment(case, policy, (*checks, grounding_check(case, policy)))


def primary_reason(checks: Sequence[SafetyCheck], *, has_passages: bool) -> RejectionReason | None:
    """Safety Mechanism's primary reason; two independent failures are ``multiple_issues``.

    Without passages every figure is 0, and a best similarity below 0.3 implies a mean below 0.6. The more
    specific reason includes what it implies, as in the design's own examples (Mars: insufficient context;
    cookies: off topic).
    """
    found = [reason for check in checks for reason in check.reasons]
    if RejectionReason.INSUFFICIENT_CONTEXT in found and not has_passages:
        return RejectionReason.INSUFFICIENT_CONTEXT
    if RejectionReason.OFF_TOPIC in found:
        found = [reason for reason in found if reason is not RejectionReason.LOW_CONFIDENCE]
    return found[0] if len(found) == 1 else (RejectionReason.MULTIPLE_ISSUES if found else None)


def _assessment(case: DraftCase, policy: SafetyPolicy, checks: Sequence[SafetyCheck]) -> Assessment:
    reason = primary_reason(checks, has_passages=bool(case.evidence.passages))
    measured = [check.score for check in checks if check.score is not None]
    confidence = round(sum(measured) / len(measured), 10) if measured else 0.0
    passed = tuple(check.name for check in checks if not check.reasons)
    failed = tuple(check.name for check in checks if check.reasons)
    action = policy.low_action if reason else Action.SEND
    explanation = "; ".join(f"{check.name}: {check.detail}" for check in checks if check.reasons)
    return Assessment(
        policy=policy_name("safety", policy.version),
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
    reason: RejectionReason | None, confidence: float, checks: Sequence[SafetyCheck], explanation: str
) -> Mapping[str, Json]:
    """Safety Mechanism's ``SafetyCheckResult``, every field under its published name."""
    return {
        "should_reject": reason is not None,
        "rejection_reason": reason.value if reason else None,
        "confidence_score": confidence,
        "passed_checks": [check.name for check in checks if not check.reasons],
        "failed_checks": [check.name for check in checks if check.reasons],
        "explanation": explanation or "All checks passed.",
        "diagnostic_info": {c.name: {"passed": not c.reasons, "details": c.detail} for c in checks},
    }


def _limit(measure: str, value: str, threshold: str, *, subject: str = "draft") -> MeasuredLimit:
    return MeasuredLimit(
        measure=measure,
        value=value,
        threshold=threshold,
        effect="check passed",
        sends=subject == "draft",
        subject=subject,
    )


DESIGN: Final = Design(
    name="safety",
    summary="five checks of passages, citations and overlap; one failed check stops the reply",
    settings=SafetyPolicy,
    assess=lambda case, policy, _: assess_draft(case, policy),
    early_refusal=early_refusal,
    limits=(
        _limit("mean similarity of the passages", "retrieval_confidence", "min_retrieval_confidence"),
        _limit("share of sentences cited", "citations", "min_citation_coverage"),
        _limit("share of sentences that passages support", "answer_grounding", "min_grounding_score"),
        _limit("best similarity", "best_similarity", "min_similarity_score", subject="passages"),
        _limit(
            "best similarity, to be on topic",
            "best_similarity",
            "max_topic_mismatch_score",
            subject="passages",
        ),
    ),
    rejections=tuple(RejectionReason),
    thresholds=(
        "min_retrieval_confidence",
        "min_similarity_score",
        "min_rerank_score",
        "min_citation_coverage",
        "min_grounding_score",
        "max_topic_mismatch_score",
    ),
    checks_labels=True,
)
