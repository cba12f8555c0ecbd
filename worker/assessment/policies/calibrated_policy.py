"""The configuration of the policy ``calibrated``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from worker.assessment.policies.outcomes import check_policy
from worker.assessment.signals.coefficients import (
    Coefficients,
    CoefficientSet,
    relevance_model,
    shipped_model,
)
from worker.assessment.signals.grounds import EvidenceKind
from worker.model import Action

FALLBACKS: Mapping[str, str] = MappingProxyType(
    {
        "en": "I could not find a reliable answer to that, so I would rather not guess.",
        "vi": "Tôi không tìm thấy câu trả lời đáng tin cậy nên không muốn đoán.",
        "zh": "我没有找到可靠的答案，不想随意猜测。",
    }
)


class JudgeUnit(StrEnum):
    """What one question to the judge contains."""

    SENTENCE = "sentence"
    REPLY = "reply"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedPolicy:
    """The configuration of ``calibrated``.

    Attributes:
        gate: whether small talk, clarifying questions and hand-offs pass without a fact check.
        require_evidence: whether a factual draft without any passage is stopped; an account without documents
            must set it to False.
        require_citations: whether a draft without any citation is undecided instead of sent.
        send_at: 0..1, replaces the model's certified threshold; None keeps the model's.
        reject_below: 0..1, replaces the model's threshold; None keeps the model's.
        judge_unit: whether an undecided draft is judged by sentences or as a whole.
        judge_sentences: most sentences that are judged, the least covered ones.
        judge_accepts: 0..1, an undecided draft is sent when the judge's lowest score reaches it.
        check_relevance: whether a draft must answer the question; False measures support only.
        relevant_from: 0..1, replaces the model's threshold of relevance; None keeps the model's.
        irrelevant_below: 0..1, replaces the model's threshold of relevance; None keeps the model's.
        judge_weight: 0..1, weight of the judge's lowest score in the confidence; the rest is the signals'.
        min_percentile: 0..1, before generation: the best passage must be nearer than this share of the
            embedder's background, if the retriever knows it.
        min_asked: 0..1, before generation: share of the question's words, by weight, that the passages must
            have; fewer are shared by chance.
        undecided_action: the action for an undecided draft without an answer of the judge.
        low_action: the action for a draft of low confidence.
        fallbacks: language -> text for the action ``fallback``.
        model: coefficients, the shipped ones or the account's own.
    """

    version: int = 2
    enabled: bool = True
    test_mode: bool = False
    gate: bool = True
    require_evidence: bool = True
    require_citations: bool = False
    send_at: float | None = None
    reject_below: float | None = None
    judge_unit: JudgeUnit = JudgeUnit.SENTENCE
    judge_sentences: int = 8
    judge_accepts: float = 0.5
    judge_weight: float = 0.8
    check_relevance: bool = True
    relevant_from: float | None = None
    irrelevant_below: float | None = None
    min_percentile: float = 0.5
    min_asked: float = 0.1
    undecided_action: Action = Action.ESCALATE
    low_action: Action = Action.ESCALATE
    fallbacks: Mapping[str, str] = field(default_factory=lambda: dict(FALLBACKS))
    model: CoefficientSet = field(default_factory=shipped_model)

    def __post_init__(self) -> None:
        check_policy(
            self,
            shares=("judge_accepts", "judge_weight", "min_percentile", "min_asked"),
            counts={"judge_sentences": (1, 100)},
        )
        for name in ("send_at", "reject_below", "relevant_from", "irrelevant_below"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise ValueError(f"{name}: expected a number from 0 to 1 or null, got {value}")
        if self.undecided_action is Action.RECHECK:
            raise ValueError("undecided_action: expected send, fallback, escalate or silence, got recheck")

    def support_bounds(self, kind: EvidenceKind) -> tuple[float, float]:
        """Support from which a draft is sent without a judge, and below which it is refused."""
        return self._bounds(self.model.kinds[kind], self.send_at, self.reject_below)

    def relevance_bounds(self) -> tuple[float, float]:
        """Relevance from which a draft is sent without a judge, and below which it is refused."""
        return self._bounds(relevance_model(self.model), self.relevant_from, self.irrelevant_below)

    def _bounds(self, model: Coefficients, sent: float | None, refused: float | None) -> tuple[float, float]:
        return model.send_at if sent is None else sent, model.reject_below if refused is None else refused
