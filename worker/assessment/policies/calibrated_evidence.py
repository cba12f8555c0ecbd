"""The refusal of the policy ``calibrated`` before generation: evidence that cannot answer."""

from __future__ import annotations

from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.policies.outcomes import policy_name
from worker.assessment.relevance.scoring import answerable_share
from worker.assessment.signals.scoring import Veto
from worker.assessment.text.language import author_language, text_in_language
from worker.assessment.values import DraftCase
from worker.model import Action, Assessment, Tier


def early_refusal(case: DraftCase, policy: CalibratedPolicy) -> Assessment | None:
    """The refusal without a passage, without one nearer than the embedder's background, or without topic."""
    if not policy.require_evidence or (reason := _nothing_to_answer_from(case, policy)) is None:
        return None
    text = (
        text_in_language(policy.fallbacks, author_language(case))
        if policy.low_action is Action.FALLBACK
        else None
    )
    return Assessment(
        policy=policy_name("calibrated", policy.version),
        confidence=0.0,
        tier=Tier.LOW,
        action=policy.low_action,
        category=Veto.NO_EVIDENCE,
        failed_checks=(Veto.NO_EVIDENCE,),
        reasons=(reason,),
        explanation=f"Nothing to answer from ({reason}), so no model was asked.",
        fallback_text=text,
    )


def _nothing_to_answer_from(case: DraftCase, policy: CalibratedPolicy) -> str | None:
    if not case.context.strip():
        return "no passage was found"
    percentiles = [p.percentile for p in case.evidence.passages if p.percentile is not None]
    if percentiles and max(percentiles) < policy.min_percentile:
        return "every passage is as far off as any"
    if policy.check_relevance and (share := answerable_share(case)) is not None and share < policy.min_asked:
        return "the passages share no more than chance words with the question"
    return None
