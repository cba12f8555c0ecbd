"""Policy ``consensus``: several models draft; the draft that the others confirm is read by a judge.

Safety Mechanism, "Multi-Model Consensus": generate with multiple models, accept only if consensus.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from worker.assessment.non_answers import is_non_answer
from worker.assessment.policies import calibrated
from worker.assessment.policies.agreement import agreement
from worker.assessment.policies.calibrated import FALLBACKS, READ_LIMITS, CalibratedPolicy
from worker.assessment.policies.design import Design, MeasuredLimit
from worker.assessment.policies.outcomes import check_policy, non_answer_assessment, policy_name
from worker.assessment.reading.asking import NOTHING, DraftReading, Wanted
from worker.assessment.text.language import author_language, text_in_language
from worker.assessment.values import DraftCase
from worker.model import Action, Assessment, Tier

DEFAULT_MODEL: Final = "default"
"""Name of the deployment's own language model among ``models``."""

TOO_FEW: Final = "too_few_drafts"
DISAGREEMENT: Final = "disagreement"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusPolicy:
    """The configuration of ``consensus``.

    Attributes:
        gate: whether small talk and clarifying questions pass without a check.
        models: 2 to 4 names of the deployment's models, each asked for a draft; ``default`` is its language
            model. A name may occur several times: that model is then asked so often.
        min_drafts: fewest drafts that are compared; when more models fail, no draft is sent.
        min_agreement: 0..1, share of the central draft's facts that another draft must state.
        send_at: 0..1, lowest confidence of the judge's reading, as of ``calibrated``.
        undecided_action: the action for a draft that no judge has read.
        low_action: the action for a draft that is not sent.
    """

    version: int = 2
    enabled: bool = True
    test_mode: bool = False
    gate: bool = True
    models: tuple[str, ...] = (DEFAULT_MODEL,) * 3
    min_drafts: int = 2
    min_agreement: float = 0.7
    send_at: float = 0.5
    undecided_action: Action = Action.HOLD
    low_action: Action = Action.ESCALATE

    def __post_init__(self) -> None:
        if not 2 <= len(self.models) <= 4:
            raise ValueError(f"models: expected 2 to 4 names, got {len(self.models)}")
        check_policy(
            self,
            shares=("min_agreement", "send_at"),
            counts={"min_drafts": (2, len(self.models))},
        )

    @property
    def reading(self) -> CalibratedPolicy:
        """The policy that assesses the central draft."""
        return CalibratedPolicy(
            send_at=self.send_at, undecided_action=self.undecided_action, low_action=self.low_action
        )


def early_refusal(case: DraftCase, policy: ConsensusPolicy) -> Assessment | None:
    """The refusal before several models are paid; as ``calibrated``."""
    found = calibrated.early_refusal(case, policy.reading)
    return None if found is None else replace(found, policy=policy_name("consensus", policy.version))


def wanted(case: DraftCase, policy: ConsensusPolicy) -> Wanted:
    """The verdicts on the central draft; a draft without consensus is not read."""
    unread = is_non_answer(case.draft) or _disagreement(case, policy)
    return NOTHING if unread else calibrated.wanted(case, policy.reading)


def assessment(case: DraftCase, policy: ConsensusPolicy, reading: DraftReading | None) -> Assessment:
    """The assessment of the central draft; ``case.evidence.other_drafts`` are the others."""
    if is_non_answer(case.draft):
        return non_answer_assessment("consensus", policy, _fallback(case, policy))
    agreed, drafts = agreement(case.draft, case.evidence.other_drafts), 1 + len(case.evidence.other_drafts)
    said = (
        f"{drafts} of {len(policy.models)} models gave a draft; {agreed:.2f} of the facts of the most central"
        f" one are in another draft (sent from {policy.min_agreement:.2f})."
    )
    if failed := _disagreement(case, policy):
        found = Assessment(
            policy="",
            confidence=0.0 if failed == TOO_FEW else round(agreed, 6),
            tier=Tier.LOW,
            action=policy.low_action,
            category=failed,
            failed_checks=(failed,),
            explanation=f"Stopped by: {failed}. Action: {policy.low_action}.",
            fallback_text=_fallback(case, policy),
        )
    else:
        found = calibrated.assessment(case, policy.reading, reading)
        found = replace(found, confidence=round(agreed * found.confidence, 6))
    return replace(
        found,
        policy=policy_name("consensus", policy.version),
        passed_checks=found.passed_checks if failed else (DISAGREEMENT, *found.passed_checks),
        signals={"agreement": agreed},
        explanation=f"{said} {found.explanation}",
        diagnostics={**found.diagnostics, "agreement": agreed, "drafts": drafts},
    )


def _disagreement(case: DraftCase, policy: ConsensusPolicy) -> str:
    """Why there is no consensus; empty when there is one."""
    if 1 + len(case.evidence.other_drafts) < policy.min_drafts:
        return TOO_FEW
    agreed = agreement(case.draft, case.evidence.other_drafts)
    return DISAGREEMENT if agreed < policy.min_agreement else ""


def _fallback(case: DraftCase, policy: ConsensusPolicy) -> str | None:
    if policy.low_action is not Action.FALLBACK:
        return None
    return text_in_language(FALLBACKS, author_language(case))


DESIGN: Final = Design(
    name="consensus",
    summary="asks several models, and sends the draft that the others confirm; costs as many calls",
    settings=ConsensusPolicy,
    assess=assessment,
    wanted=wanted,
    early_refusal=early_refusal,
    limits=(
        MeasuredLimit(
            measure="facts that another draft states",
            value="agreement",
            threshold="min_agreement",
            effect="check passed",
        ),
        *READ_LIMITS,
    ),
    thresholds=("min_agreement", "send_at"),
    models=lambda policy: policy.models,
)
