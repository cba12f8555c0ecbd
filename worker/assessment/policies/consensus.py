"""Policy ``consensus``: several models draft, and the draft that the others confirm may be sent.

Safety Mechanism, "Multi-Model Consensus": generate with multiple models, accept only if consensus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from worker.assessment.non_answers.recogniser import is_non_answer
from worker.assessment.policies import calibrated_evidence
from worker.assessment.policies.agreement import agreement
from worker.assessment.policies.calibrated_policy import FALLBACKS, CalibratedPolicy
from worker.assessment.policies.outcomes import check_policy, non_answer_assessment, policy_name
from worker.assessment.signals.coefficients import relevance_model, shipped_model
from worker.assessment.signals.lexical import has_bare_fact
from worker.assessment.signals.scoring import SignalScore, score_draft, score_reasons
from worker.assessment.text.language import author_language, text_in_language
from worker.assessment.values import DraftCase
from worker.model import Action, Assessment, Tier

DEFAULT_MODEL: Final = "default"
"""Name of the deployment's own language model among ``models``."""

TOO_FEW: Final = "too_few_drafts"
DISAGREEMENT: Final = "disagreement"
UNGROUNDED: Final = "ungrounded"
IRRELEVANT: Final = "irrelevant"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusPolicy:
    """The configuration of ``consensus``.

    Attributes:
        gate: whether small talk and clarifying questions pass without a check.
        models: 2 to 4 names of the deployment's models, each asked for a draft; ``default`` is its language
            model. A name may occur several times: that model is then asked so often.
        min_drafts: fewest drafts that are compared; when more models fail, no draft is sent.
        min_agreement: 0..1, share of the central draft's facts that another draft must state.
        min_support: 0..1, support by the passages from which the central draft is sent; with a bare fact
            (a number, name or whole sentence that no passage has) it is sent at no support.
        low_action: the action for a draft that is not sent.
    """

    version: int = 1
    enabled: bool = True
    test_mode: bool = False
    gate: bool = True
    models: tuple[str, ...] = (DEFAULT_MODEL,) * 3
    min_drafts: int = 2
    min_agreement: float = 0.7
    min_support: float = 0.5
    low_action: Action = Action.ESCALATE

    def __post_init__(self) -> None:
        if not 2 <= len(self.models) <= 4:
            raise ValueError(f"models: expected 2 to 4 names, got {len(self.models)}")
        shares = ("min_agreement", "min_support")
        check_policy(self, shares=shares, counts={"min_drafts": (2, len(self.models))})


def early_refusal(case: DraftCase, policy: ConsensusPolicy) -> Assessment | None:
    """The refusal before several models are paid, for evidence that cannot answer; as ``calibrated``."""
    found = calibrated_evidence.early_refusal(case, CalibratedPolicy(low_action=policy.low_action))
    return None if found is None else replace(found, policy=policy_name("consensus", policy.version))


def assess_draft(case: DraftCase, policy: ConsensusPolicy) -> Assessment:
    """The assessment of the central draft; ``case.evidence.other_drafts`` are the others."""
    others = case.evidence.other_drafts
    if is_non_answer(case.draft):
        return non_answer_assessment("consensus", policy, _fallback(case, policy))
    agreed = agreement(case.draft, others)
    score, _ = score_draft(case, shipped_model(), require_evidence=True)
    failed = _failed(policy, agreed, score, drafts=1 + len(others))
    relevance = score.relevance.score if score.relevance else None
    action = policy.low_action if failed else Action.SEND
    confidence = 0.0 if score.vetoes or TOO_FEW in failed else agreed * score.support
    return Assessment(
        policy=policy_name("consensus", policy.version),
        confidence=round(confidence, 10),
        tier=Tier.LOW if failed else Tier.HIGH,
        action=action,
        category=failed[0] if failed else "",
        passed_checks=tuple(name for name in (DISAGREEMENT, UNGROUNDED, IRRELEVANT) if name not in failed),
        failed_checks=failed,
        reasons=score_reasons(case, score),
        signals={"agreement": agreed, "support": score.support, **score.all_signals},
        explanation=_explanation(policy, agreed, score, failed, drafts=1 + len(others)),
        diagnostics={"agreement": agreed, "drafts": 1 + len(others)},
        fallback_text=_fallback(case, policy) if failed else None,
        support=score.support,
        relevance=relevance,
    )


def _failed(policy: ConsensusPolicy, agreed: float, score: SignalScore, *, drafts: int) -> tuple[str, ...]:
    least = relevance_model(shipped_model()).reject_below
    found = {
        TOO_FEW: drafts < policy.min_drafts,
        DISAGREEMENT: agreed < policy.min_agreement,
        UNGROUNDED: score.support < policy.min_support or has_bare_fact(score.signals),
        IRRELEVANT: score.relevance is not None and score.relevance.score < least,
    }
    return (*(veto.value for veto in score.vetoes), *(name for name, failed in found.items() if failed))


def _explanation(
    policy: ConsensusPolicy, agreed: float, score: SignalScore, failed: Sequence[str], *, drafts: int
) -> str:
    parts = [
        f"{drafts} of {len(policy.models)} models gave a draft.",
        f"{agreed:.2f} of the facts of the most central one are in another draft"
        f" (sent from {policy.min_agreement:.2f}).",
        f"The signals of support give {score.support:.2f} (sent from {policy.min_support:.2f}).",
    ]
    if failed:
        parts += [f"Stopped by: {', '.join(failed)}.", f"Action: {policy.low_action}."]
    return " ".join(parts)


def _fallback(case: DraftCase, policy: ConsensusPolicy) -> str | None:
    if policy.low_action is not Action.FALLBACK:
        return None
    return text_in_language(FALLBACKS, author_language(case))
