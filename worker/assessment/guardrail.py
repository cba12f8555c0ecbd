"""Policy ``guardrail`` (seed 001, Confidence Guardrail): grounding, retrieval and certainty, weighted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from worker.assessment.judge import Answer, Aspect, JudgeOutcome, Question
from worker.assessment.outcomes import check_policy, name_of, undecided_reasons
from worker.assessment.values import Action, Case, Recheck, Tier
from worker.assessment.wordlists import folded, phrase_pattern
from worker.model import Assessment, Json

WEIGHTS: Mapping[str, float] = MappingProxyType({"grounding": 0.6, "retrieval": 0.3, "certainty": 0.1})
"""Seed 001, "Confidence Scoring": 60, 30 and 10 percent."""

MOST_DOCUMENTS = 100
"""Passages of one search; a prompt with more says nothing better."""

FALLBACK_MESSAGE = (
    "I'm not confident I can provide an accurate answer to this question based on the available information. "
    "Let me connect you with a team member who can help."
)
"""Seed 001, "Default fallback message"."""

HEDGES = ("i think", "maybe", "possibly", "perhaps", "probably", "i believe", "might", "not sure", "i guess")
"""Seed 001 names the first three, "etc."; the others are ours."""

GROUNDING_BANDS: tuple[tuple[float, str], ...] = (
    (1.0, "entirely based on the provided context"),
    (0.7, "mostly grounded with minor general knowledge"),
    (0.4, "a mix of context and general knowledge"),
    (0.1, "primarily general knowledge"),
    (0.0, "completely ignores or contradicts the context"),
)
"""Seed 001, "Grounding Score": the lowest score of each band and what it means."""

_GROUNDING_INSTRUCTION = (
    "Rate how far the answer rests on the context rather than on general knowledge. 1.0: entirely based on "
    "the provided context. 0.7 to 0.9: mostly grounded with minor general knowledge. 0.4 to 0.6: a mix of "
    "context and general knowledge. 0.1 to 0.3: primarily general knowledge. 0.0: completely ignores or "
    "contradicts the context. Reply with one number between 0.0 and 1.0 and nothing else."
)
_CERTAINTY_INSTRUCTION = (
    "You wrote the answer to the question with nothing but the context at hand. How certain are you that it "
    "is right? Reply with one number between 0.0 and 1.0 and nothing else."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailPolicy:
    """Seed 001's five options and its fixed numbers.

    Attributes:
        high_threshold: 0..1, from here on a reply is delivered (0.8).
        medium_threshold: 0..1, from here on it is rechecked (0.5).
        enable_recheck: whether a medium reply is retrieved and generated once more.
        enable_escalation: whether a low reply goes to a person, else ``fallback_message`` is sent.
        fallback_message: sent for a low reply when escalation is off.
        initial_documents: how many passages the first search retrieves (5).
        initial_similarity: 0..1, its lowest similarity (0.4).
        recheck_documents: how many passages the recheck retrieves (10).
        recheck_similarity: 0..1, the recheck's lowest similarity (0.3).
        hedge_penalty: what each hedging phrase takes from the certainty; ours, the document gives no number.
    """

    version: int = 1
    enabled: bool = True
    gate: bool = False
    high_threshold: float = 0.8
    medium_threshold: float = 0.5
    enable_recheck: bool = True
    enable_escalation: bool = True
    fallback_message: str = FALLBACK_MESSAGE
    initial_documents: int = 5
    initial_similarity: float = 0.4
    recheck_documents: int = 10
    recheck_similarity: float = 0.3
    hedge_penalty: float = 0.1

    def __post_init__(self) -> None:
        shares = (
            "high_threshold",
            "medium_threshold",
            "initial_similarity",
            "recheck_similarity",
            "hedge_penalty",
        )
        counts = {"initial_documents": (1, MOST_DOCUMENTS), "recheck_documents": (1, MOST_DOCUMENTS)}
        check_policy(self, shares=shares, counts=counts)
        if self.medium_threshold > self.high_threshold:
            expected = f"at most high_threshold ({self.high_threshold})"
            raise ValueError(f"medium_threshold: expected {expected}, got {self.medium_threshold}")

    @property
    def low_action(self) -> Action:
        """Seed 001, "Fallback & Escalation"."""
        return Action.ESCALATE if self.enable_escalation else Action.FALLBACK

    @property
    def recheck(self) -> Recheck:
        """How to search again for a medium reply."""
        return Recheck(documents=self.recheck_documents, min_similarity=self.recheck_similarity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """The three scores, 0..1; grounding is None when no judge gave one."""

    grounding: float | None
    retrieval: float
    certainty: float

    @property
    def overall(self) -> float:
        """0..1, the weighted sum; without grounding, the least it can be."""
        total = (
            WEIGHTS["grounding"] * (self.grounding or 0.0)
            + WEIGHTS["retrieval"] * self.retrieval
            + WEIGHTS["certainty"] * self.certainty
        )
        return round(total, 10)  # ten decimals: 0.8 must not be 0.7999999999999999


def tier_of(score: float, policy: GuardrailPolicy) -> Tier:
    """Seed 001: high from 0.8, medium from 0.5 up to 0.8, low below."""
    if score >= policy.high_threshold:
        return Tier.HIGH
    return Tier.MEDIUM if score >= policy.medium_threshold else Tier.LOW


def grounding_band(score: float) -> str:
    """What a grounding score means, in seed 001's words."""
    return next(meaning for lowest, meaning in GROUNDING_BANDS if score >= lowest)


def retrieval_score(case: Case) -> float:
    """0..1, mean similarity of the passages, 0 without any."""
    passages = case.evidence.passages
    return sum(p.similarity for p in passages) / len(passages) if passages else 0.0


def certainty_score(draft: str, self_assessed: float | None, penalty: float) -> float:
    """0..1: the model's own word for it (1.0 when it gave none), less ``penalty`` for each hedging phrase."""
    text = folded(draft)
    hedges = sum(phrase_pattern((hedge,)).search(text) is not None for hedge in HEDGES)
    return max(0.0, (1.0 if self_assessed is None else self_assessed) - penalty * hedges)


def first_look(case: Case, policy: GuardrailPolicy) -> Assessment | tuple[Question, ...]:
    """The two questions, to be asked at the same time; this design has no cheap path."""
    del policy
    return tuple(
        Question(
            aspect=aspect,
            query=case.query,
            context=case.numbered_context,
            claim=case.draft,
            instruction=instruction,
        )
        for aspect, instruction in (
            (Aspect.GROUNDING, _GROUNDING_INSTRUCTION),
            (Aspect.CERTAINTY, _CERTAINTY_INSTRUCTION),
        )
    )


def conclude(case: Case, policy: GuardrailPolicy, answers: Sequence[Answer]) -> Assessment:
    """The assessment; without a grounding score the reply is never delivered."""
    grounding, self_assessed = answers[0].score, answers[1].score
    scores = Breakdown(
        grounding=grounding,
        retrieval=retrieval_score(case),
        certainty=certainty_score(case.draft, self_assessed, policy.hedge_penalty),
    )
    tier = Tier.LOW if grounding is None else tier_of(scores.overall, policy)
    action = _action(tier, case, policy, judged=grounding is not None)
    failed = tuple(a.outcome.value for a in answers if a.outcome is not JudgeOutcome.SCORED)
    return Assessment(
        policy=name_of("guardrail", policy.version),
        confidence=scores.overall,
        tier=tier,
        action=action,
        category="judge_unavailable" if grounding is None else "",
        passed_checks=("confidence",) if tier is Tier.HIGH else (),
        failed_checks=failed if tier is Tier.HIGH else ("confidence", *failed),
        reasons=(_details(scores, tier), *undecided_reasons(answers)),
        signals=_numbers(scores),
        explanation=_details(scores, tier),
        diagnostics=_metadata(case, scores, tier),
        fallback_text=policy.fallback_message if action is Action.FALLBACK else None,
    )


def _action(tier: Tier, case: Case, policy: GuardrailPolicy, *, judged: bool) -> Action:
    """A medium reply is rechecked once, then delivered; only low ones fall back or escalate (seed 001)."""
    if not judged or tier is Tier.LOW:
        return policy.low_action
    if tier is Tier.MEDIUM and policy.enable_recheck and case.evidence.rechecks == 0:
        return Action.RECHECK
    return Action.SEND


def _numbers(scores: Breakdown) -> dict[str, float]:
    known = {"retrieval": scores.retrieval, "certainty": scores.certainty}
    return known if scores.grounding is None else {"grounding": scores.grounding, **known}


def _details(scores: Breakdown, tier: Tier) -> str:
    overall = f"Overall Confidence: {scores.overall:.1%} ({tier.upper()})"
    if scores.grounding is None:
        grounding = "not judged"
    else:
        grounding = f"{scores.grounding:.2f}, {grounding_band(scores.grounding)}"
    parts = f"Grounding: {grounding}. Retrieval: {scores.retrieval:.2f}. Certainty: {scores.certainty:.2f}."
    return f"{overall}. {parts}"


def _metadata(case: Case, scores: Breakdown, tier: Tier) -> dict[str, Json]:
    """Seed 001's message metadata, every field under its published name."""
    used: list[Json] = [
        {"id": p.passage_id, "title": p.title, "similarity": p.similarity} for p in case.evidence.passages
    ]
    return {
        "confidence": scores.overall,
        "confidenceTier": tier.value,
        "confidenceBreakdown": {
            "grounding": scores.grounding,
            "retrieval": scores.retrieval,
            "certainty": scores.certainty,
        },
        "confidenceDetails": _details(scores, tier),
        "documentsUsed": used,
        "recheckAttempted": case.evidence.rechecks > 0,
        "recheckCount": case.evidence.rechecks,
    }


def with_recheck(assessment: Assessment) -> Assessment:
    """The assessment of a draft that stands although it was rechecked: the metadata says so."""
    counted = {**assessment.diagnostics, "recheckAttempted": True, "recheckCount": 1}
    return replace(assessment, diagnostics=counted)


def log_entry(assessment: Assessment) -> dict[str, Json] | None:
    """One entry of seed 001's ``confidenceLog``; None for an assessment without its (stamped) metadata."""
    metadata = assessment.diagnostics
    if "confidenceBreakdown" not in metadata:
        return None
    return {
        "timestamp": metadata["timestamp"],
        "score": metadata["confidence"],
        "tier": metadata["confidenceTier"],
        "breakdown": metadata["confidenceBreakdown"],
        "documentsUsed": metadata["documentsUsed"],
        "recheckAttempted": metadata["recheckAttempted"],
        "recheckCount": metadata["recheckCount"],
        "details": metadata["confidenceDetails"],
    }
