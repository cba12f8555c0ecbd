"""Policy ``guardrail`` (Confidence Guardrail): grounding, retrieval and certainty, weighted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from worker.assessment.non_answers import is_non_answer
from worker.assessment.policies.design import Design, MeasuredLimit, Record
from worker.assessment.policies.outcomes import check_policy, non_answer_assessment, policy_name
from worker.assessment.reading.asking import NOTHING, DraftReading, Wanted
from worker.assessment.text.wordlists import folded_text, phrase_pattern
from worker.assessment.values import DraftCase, SearchBounds
from worker.model import Action, Assessment, Json, Tier

WEIGHTS: Mapping[str, float] = MappingProxyType({"grounding": 0.6, "retrieval": 0.3, "certainty": 0.1})
"""Confidence Guardrail, "Confidence Scoring": 60, 30 and 10 percent."""

MOST_DOCUMENTS = 100
"""Most passages of one search; more passages do not improve a prompt."""

FALLBACK_MESSAGE = (
    "I'm not confident I can provide an accurate answer to this question based on the available information. "
    "Let me connect you with a team member who can help."
)
"""Confidence Guardrail, "Default fallback message"."""

HEDGES = ("i think", "maybe", "possibly", "perhaps", "probably", "i believe", "might", "not sure", "i guess")
"""Confidence Guardrail names the first three and "etc."; Hushgate adds the others."""

GROUNDING_BANDS: tuple[tuple[float, str], ...] = (
    (1.0, "entirely based on the provided context"),
    (0.7, "mostly grounded with minor general knowledge"),
    (0.4, "a mix of context and general knowledge"),
    (0.1, "primarily general knowledge"),
    (0.0, "completely ignores or contradicts the context"),
)
"""Confidence Guardrail, "Grounding Score": lowest score of each band and its meaning."""

_GROUNDING_INSTRUCTION = (
    "Rate how far the answer rests on the context rather than on general knowledge. 1.0: entirely based on "
    "the provided context. 0.7 to 0.9: mostly grounded with minor general knowledge. 0.4 to 0.6: a mix of "
    "context and general knowledge. 0.1 to 0.3: primarily general knowledge. 0.0: completely ignores or "
    "contradicts the context."
)
_CERTAINTY_INSTRUCTION = (
    "You wrote the answer to the question with nothing but the context at hand. How certain are you that it "
    "is right?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailPolicy:
    """Confidence Guardrail's five options and its fixed numbers.

    Attributes:
        high_threshold: 0..1, a reply is delivered from this score on (0.8).
        medium_threshold: 0..1, a reply is rechecked from this score on (0.5).
        enable_recheck: whether retrieval and generation are repeated once for a medium reply.
        enable_escalation: whether a low reply goes to a person, else ``fallback_message`` is sent.
        fallback_message: sent for a low reply when escalation is off.
        initial_documents: how many passages the first search retrieves (5).
        initial_similarity: 0..1, its lowest similarity (0.4).
        recheck_documents: how many passages the recheck retrieves (10).
        recheck_similarity: 0..1, the recheck's lowest similarity (0.3).
        hedge_penalty: deduction from the certainty per hedging phrase; the design gives no number.
    """

    version: int = 1
    enabled: bool = True
    test_mode: bool = False
    gate: bool = True
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
        """Confidence Guardrail, "Fallback & Escalation"."""
        return Action.ESCALATE if self.enable_escalation else Action.FALLBACK

    @property
    def initial(self) -> SearchBounds:
        """The search before the first draft."""
        return SearchBounds(documents=self.initial_documents, min_similarity=self.initial_similarity)

    @property
    def recheck(self) -> SearchBounds:
        """The search of a recheck."""
        return SearchBounds(documents=self.recheck_documents, min_similarity=self.recheck_similarity)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceBreakdown:
    """The three scores, 0..1; grounding and certainty are None without a reading by the judge."""

    grounding: float | None
    retrieval: float
    certainty: float | None

    @property
    def overall(self) -> float:
        """0..1, the weighted sum; a missing judge's score counts 0."""
        total = (
            WEIGHTS["grounding"] * (self.grounding or 0.0)
            + WEIGHTS["retrieval"] * self.retrieval
            + WEIGHTS["certainty"] * (self.certainty or 0.0)
        )
        return round(total, 10)  # ten decimals: 0.8 must not be 0.7999999999999999


def confidence_tier(score: float, policy: GuardrailPolicy) -> Tier:
    """Confidence Guardrail: high from 0.8, medium from 0.5 up to 0.8, low below."""
    if score >= policy.high_threshold:
        return Tier.HIGH
    return Tier.MEDIUM if score >= policy.medium_threshold else Tier.LOW


def grounding_band(score: float) -> str:
    """The meaning of a grounding score in Confidence Guardrail's words."""
    return next(meaning for lowest, meaning in GROUNDING_BANDS if score >= lowest)


def retrieval_score(case: DraftCase) -> float:
    """0..1, mean similarity of the passages, 0 without any."""
    passages = case.evidence.passages
    return sum(p.similarity for p in passages) / len(passages) if passages else 0.0


def certainty_score(draft: str, self_assessed: float | None, penalty: float) -> float | None:
    """0..1: the judge's score minus ``penalty`` per hedging phrase; None when the judge gave no score."""
    if self_assessed is None:
        return None
    text = folded_text(draft)
    hedges = sum(phrase_pattern((hedge,)).search(text) is not None for hedge in HEDGES)
    return max(0.0, self_assessed - penalty * hedges)


ASPECTS: Mapping[str, str] = MappingProxyType(
    {"grounding": _GROUNDING_INSTRUCTION, "certainty": _CERTAINTY_INSTRUCTION}
)


def wanted(case: DraftCase, _policy: GuardrailPolicy) -> Wanted:
    """The two published scores; empty for a non-answer."""
    return NOTHING if is_non_answer(case.draft) else Wanted(aspects=ASPECTS)


def _without_answer(case: DraftCase, policy: GuardrailPolicy) -> Assessment:
    """The assessment of a non-answer: confidence 0, without a judge; the metadata keep the published sum."""
    scores = ConfidenceBreakdown(grounding=None, retrieval=retrieval_score(case), certainty=None)
    return replace(
        non_answer_assessment("guardrail", policy, policy.fallback_message),
        diagnostics=_metadata(case, scores, Tier.LOW),
    )


def assessment(case: DraftCase, policy: GuardrailPolicy, reading: DraftReading | None) -> Assessment:
    """The assessment; without the judge's two scores the reply is never delivered."""
    if is_non_answer(case.draft):
        return _without_answer(case, policy)
    judged: Mapping[str, float] = reading.scores if reading else {}
    scores = ConfidenceBreakdown(
        grounding=judged.get("grounding"),
        retrieval=retrieval_score(case),
        certainty=certainty_score(case.draft, judged.get("certainty"), policy.hedge_penalty),
    )
    unread = judged.get("grounding") is None
    tier = Tier.LOW if unread else confidence_tier(scores.overall, policy)
    action = _action(tier, case, policy, judged=not unread)
    failed = (reading.outcome.value,) if unread and reading else ()
    return Assessment(
        policy=policy_name("guardrail", policy.version),
        confidence=scores.overall,
        tier=tier,
        action=action,
        category=failed[0] if failed else "",
        passed_checks=("confidence",) if tier is Tier.HIGH else (),
        failed_checks=() if tier is Tier.HIGH else ("confidence", *failed),
        reasons=(reading.reason,) if unread and reading else (),
        signals=_numbers(scores),
        explanation=_details(scores, tier),
        diagnostics=_metadata(case, scores, tier),
        fallback_text=policy.fallback_message if action is Action.FALLBACK else None,
    )


def _action(tier: Tier, case: DraftCase, policy: GuardrailPolicy, *, judged: bool) -> Action:
    """The action: a medium reply is rechecked once, then sent; only a low one falls back or escalates."""
    if not judged or tier is Tier.LOW:
        return policy.low_action
    if tier is Tier.MEDIUM and policy.enable_recheck and case.evidence.rechecks == 0:
        return Action.RECHECK
    return Action.SEND


def _numbers(scores: ConfidenceBreakdown) -> dict[str, float]:
    measured = (
        ("grounding", scores.grounding),
        ("retrieval", scores.retrieval),
        ("certainty", scores.certainty),
    )
    return {name: score for name, score in measured if score is not None}


def _details(scores: ConfidenceBreakdown, tier: Tier) -> str:
    overall = f"Overall Confidence: {scores.overall:.1%} ({tier.upper()})"
    if scores.grounding is None:
        grounding = "not judged"
    else:
        grounding = f"{scores.grounding:.2f}, {grounding_band(scores.grounding)}"
    certainty = "not judged" if scores.certainty is None else f"{scores.certainty:.2f}"
    parts = f"Grounding: {grounding}. Retrieval: {scores.retrieval:.2f}. Certainty: {certainty}."
    return f"{overall}. {parts}"


def _metadata(case: DraftCase, scores: ConfidenceBreakdown, tier: Tier) -> dict[str, Json]:
    """Confidence Guardrail's message metadata, every field under its published name."""
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


PUBLISHED: Final = (
    "confidence",
    "confidenceTier",
    "confidenceBreakdown",
    "confidenceDetails",
    "documentsUsed",
    "recheckAttempted",
    "recheckCount",
    "timestamp",
)
"""Confidence Guardrail, metadata of a message; other diagnostics, such as removed sentences, stay inside."""


def with_recheck(assessment: Assessment) -> Assessment:
    """The assessment of a draft that a recheck did not improve, with the recheck in its metadata."""
    counted = {**assessment.diagnostics, "recheckAttempted": True, "recheckCount": 1}
    return replace(assessment, diagnostics=counted)


def _published(record: Record) -> dict[str, Json] | None:
    if "confidenceBreakdown" not in record:
        return None
    return {name: record[name] for name in PUBLISHED if name in record}


def _log_entry(record: Record) -> dict[str, Json] | None:
    """One entry of Guardrail's ``confidenceLog``, from its stamped metadata."""
    if "confidenceBreakdown" not in record:
        return None
    return {
        "timestamp": record["timestamp"],
        "score": record["confidence"],
        "tier": record["confidenceTier"],
        "breakdown": record["confidenceBreakdown"],
        "documentsUsed": record["documentsUsed"],
        "recheckAttempted": record["recheckAttempted"],
        "recheckCount": record["recheckCount"],
        "details": record["confidenceDetails"],
    }


DESIGN: Final = Design(
    name="guardrail",
    summary="three tiers, with a second search between them",
    settings=GuardrailPolicy,
    assess=assessment,
    wanted=wanted,
    limits=(
        MeasuredLimit(
            measure="confidence",
            value="confidence",
            threshold="high_threshold",
            effect="high: sent at once",
            sends=False,
        ),
        MeasuredLimit(
            measure="confidence",
            value="confidence",
            threshold="medium_threshold",
            effect="medium: rechecked, then sent",
        ),
    ),
    thresholds=("high_threshold", "medium_threshold"),
    main_threshold="high_threshold",
    published_names={
        "highThreshold": "high_threshold",
        "mediumThreshold": "medium_threshold",
        "enableRecheck": "enable_recheck",
        "enableEscalation": "enable_escalation",
        "fallbackMessage": "fallback_message",
        "testMode": "test_mode",
    },
    search=lambda policy: policy.initial,
    recheck=lambda policy: policy.recheck if policy.enable_recheck else None,
    published=_published,
    log_entry=_log_entry,
)
