"""Policy ``validators`` (seed 002, Confidence Validation & Fallback): a chain of validators, then a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from worker.assessment.citations import citation_check, without_citations
from worker.assessment.figures import MEASURES, quantities
from worker.assessment.language import language_for
from worker.assessment.outcomes import check_policy, name_of
from worker.assessment.values import Action, Case, Tier
from worker.assessment.wordlists import folded, phrase_pattern
from worker.assessment.words import facts, normalised, units
from worker.model import Assessment, Json

UNCERTAINTY_PATTERNS = (
    # seed 002 gives the first of each language, "etc."
    "i don't know", "i'm not certain", "i cannot answer", "i can't answer", "i'm not sure",
    "i am not certain", "i am not sure", "i do not know", "don't have enough information",
    "do not have enough information",
    "không biết", "không có đủ thông tin", "không thể trả lời", "không chắc", "chưa rõ",
    "不知道", "不确定", "无法回答", "没有足够的信息", "不清楚",
)  # fmt: skip

OVERCONFIDENCE_PATTERNS = (
    # seed 002: "Definitely X", "Chắc chắn 100%", etc.
    "definitely", "absolutely", "certainly", "without a doubt", "undoubtedly", "100%", "guaranteed",
    "chắc chắn", "hoàn toàn chắc", "không nghi ngờ gì",
    "绝对", "肯定", "毫无疑问", "百分之百",
)  # fmt: skip

FALLBACKS: Mapping[str, str] = MappingProxyType(
    {
        "en": "I don't have enough information to answer this reliably, so I would rather not guess."
        "{learning} You could put the question differently, ask again later, or ask about a related topic.",
        "vi": "Tôi không có đủ thông tin để trả lời chắc chắn nên không muốn đoán.{learning} Bạn có thể hỏi "
        "theo cách khác, hỏi lại sau, hoặc hỏi về một chủ đề liên quan.",
        "zh": "我没有足够的信息来可靠地回答这个问题，不想随意猜测。{learning}"
        "您可以换一种问法，稍后再问，或询问相关的话题。",
    }
)
LEARNING: Mapping[str, str] = MappingProxyType(
    {
        "en": " I learn from new sources every {hours} hours.",
        "vi": " Tôi học từ các nguồn mới mỗi {hours} giờ.",
        "zh": "我每{hours}小时从新的来源学习。",
    }
)


class Fault(StrEnum):
    """Why a validator failed; the first three are seed 002's own words."""

    MISSING_UNCERTAINTY = "missing_uncertainty_no_context"
    MISSING_CITATION = "missing_citation"
    LOW_OVERLAP = "low_overlap"
    OVERCONFIDENT = "overconfident_no_context"
    NUMERIC_UNITS = "numeric_units_unsupported"
    ETHICS = "ethics"


FALLBACK_TRIGGERS = frozenset(
    {Fault.MISSING_UNCERTAINTY, Fault.OVERCONFIDENT, Fault.MISSING_CITATION, Fault.LOW_OVERLAP}
)
"""Seed 002, "Fallback Triggers": each of them when there is no context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorsPolicy:
    """Seed 002's configuration.

    Attributes:
        enabled: the switch ``ENABLE_VALIDATORS``.
        evidence_threshold: 0..1, share of the reply's words that must occur in the context
            (``VALIDATOR_EVIDENCE_THRESHOLD``, 0.01).
        require_uncertainty_when_no_context: seed 002's ``ConfidenceValidator`` option.
        ethics_guard: called with the reply, answers the principle it breaks or an empty string; not settable
            from JSON (seed 002: ``EthicsAdapter(guard_callable=None)``).
        fallbacks: language -> text; ``{learning}`` is replaced by the sentence on learning.
        learning_interval_hours: how often new sources are learnt (seed 002: every 4 hours); None leaves the
            sentence out, as an account that learns nothing must.
        low_action: what becomes of a reply that triggers the fallback.
    """

    version: int = 1
    enabled: bool = True
    gate: bool = False
    evidence_threshold: float = 0.01
    require_uncertainty_when_no_context: bool = True
    ethics_guard: Callable[[str], str] | None = None
    fallbacks: Mapping[str, str] = field(default_factory=lambda: dict(FALLBACKS))
    learning_interval_hours: int | None = 4
    low_action: Action = Action.FALLBACK

    def __post_init__(self) -> None:
        counts = {"learning_interval_hours": (1, 10_000)}
        check_policy(self, shares=("evidence_threshold",), counts=counts)


def expresses_uncertainty(text: str) -> bool:
    """Whether a reply says, in English, Vietnamese or Chinese, that it does not know."""
    return phrase_pattern(UNCERTAINTY_PATTERNS).search(folded(text)) is not None


def is_overconfident(text: str) -> bool:
    """Whether a reply claims certainty in so many words."""
    return any(pattern in folded(text) for pattern in OVERCONFIDENCE_PATTERNS)


def overlap(case: Case) -> float:
    """0..1, share of the reply's distinct words that occur in the context; 1 when it has none."""
    said = set(units(normalised(without_citations(case.draft))))
    return len(said & set(units(normalised(case.context)))) / len(said) if said else 1.0


def unsupported_quantities(case: Case) -> tuple[str, ...]:
    """Numbers of the reply the context does not give, or gives with another unit of measure."""
    given = quantities(normalised(case.context))
    given_numbers = {number for number, _ in given}
    stated = quantities(normalised(without_citations(case.draft)))
    return tuple(
        sorted(
            f"{number} {unit}".strip()
            for number, unit in stated
            if number not in given_numbers or (unit in MEASURES and (number, unit) not in given)
        )
    )


def faults_of(case: Case, policy: ValidatorsPolicy) -> tuple[Fault, ...]:
    """What the chain of seed 002 finds, in its order: citation, overlap, numbers, confidence, ethics."""
    has_context = bool(case.evidence.passages)
    if not has_context and expresses_uncertainty(case.draft):
        # an honest "I don't know" has nothing to cite; the document contradicts itself here
        return (Fault.ETHICS,) if _ethics(case, policy) else ()
    found = []
    check = citation_check(case.draft, case.evidence.passages)
    if check.sentences and len(check.uncited) == check.sentences:
        found.append(Fault.MISSING_CITATION)
    if overlap(case) < policy.evidence_threshold:
        found.append(Fault.LOW_OVERLAP)
    if has_context and unsupported_quantities(case):
        found.append(Fault.NUMERIC_UNITS)
    if not has_context and is_overconfident(case.draft):
        found.append(Fault.OVERCONFIDENT)
    if not has_context and policy.require_uncertainty_when_no_context:
        found.append(Fault.MISSING_UNCERTAINTY)
    if _ethics(case, policy):
        found.append(Fault.ETHICS)
    return tuple(found)


def _ethics(case: Case, policy: ValidatorsPolicy) -> str:
    """The principle the reply breaks, by the account's guard or by moderation, or an empty string."""
    return policy.ethics_guard(case.draft) if policy.ethics_guard else case.evidence.moderation_hit


def confidence_score(documents: int, faults: Sequence[Fault]) -> float:
    """Seed 002: 0.2, 0.5 or 0.8 for no, one or more documents; passed +0.1; then what each failure takes.

    Missing uncertainty without context sets 0.1; a missing citation with context takes 0.2, low overlap 0.15,
    any other failure 0.1.
    """
    base = (0.2, 0.5, 0.8)[min(documents, 2)]
    if not faults:
        return min(1.0, round(base + 0.1, 10))
    if Fault.MISSING_UNCERTAINTY in faults and not documents:
        return 0.1
    taken = {Fault.MISSING_CITATION: 0.2 if documents else 0.1, Fault.LOW_OVERLAP: 0.15}
    return max(0.0, round(base - sum(taken.get(fault, 0.1) for fault in faults), 10))


def tier_of(score: float) -> Tier:
    """Seed 002, "Score Ranges"; the gaps it leaves (0.3 to 0.4, 0.6 to 0.7) belong to the range below."""
    if score >= 0.7:
        return Tier.HIGH
    return Tier.MEDIUM if score >= 0.4 else Tier.LOW


def fallback_answer(policy: ValidatorsPolicy, language: str | None) -> str:
    """The safe text for a language; it is never made from the refused reply."""
    code = language if language is not None and language in policy.fallbacks else "en"
    text = policy.fallbacks.get(code, FALLBACKS["en"])
    hours = policy.learning_interval_hours
    learning = "" if hours is None else LEARNING.get(code, LEARNING["en"]).format(hours=hours)
    return text.replace("{learning}", learning)


def learning_suggestions(case: Case) -> tuple[str, ...]:
    """Topics of the question on which no passage says a word: what to add to the documents."""
    known = set(units(normalised(case.context)))
    asked = dict.fromkeys(facts(units(normalised(case.query))))
    return tuple(topic for topic in asked if topic not in known)[:5]


def conclude(case: Case, policy: ValidatorsPolicy) -> Assessment:
    """The assessment; this design asks no judge."""
    faults = faults_of(case, policy)
    documents = len(case.evidence.passages)
    confidence = confidence_score(documents, faults)
    replaced = Fault.ETHICS in faults or (not documents and not FALLBACK_TRIGGERS.isdisjoint(faults))
    action = policy.low_action if replaced else Action.SEND
    text = fallback_answer(policy, language_for(case)) if action is Action.FALLBACK else None
    return Assessment(
        policy=name_of("validators", policy.version),
        confidence=confidence,
        tier=tier_of(confidence),
        action=action,
        category=faults[0] if faults else "",
        passed_checks=tuple(fault.value for fault in Fault if fault not in faults),
        failed_checks=tuple(fault.value for fault in faults),
        reasons=tuple(f"failed: {fault.value}" for fault in faults),
        signals={"overlap": overlap(case), "documents": float(documents)},
        explanation=f"{documents} documents, {len(faults)} failed validators: confidence {confidence:.2f}.",
        diagnostics=_validation_info(case, faults, confidence, used_fallback=text is not None),
        fallback_text=text,
    )


def _validation_info(
    case: Case, faults: Sequence[Fault], confidence: float, *, used_fallback: bool
) -> dict[str, Json]:
    """Seed 002's ``validation_info``, with ``learning_suggestions`` and whether doubt was expressed."""
    return {
        "passed": not faults,
        "reasons": [fault.value for fault in faults],
        "used_fallback": used_fallback,
        "confidence_score": confidence,
        "context_docs_count": len(case.evidence.passages),
        "learning_suggestions": list(learning_suggestions(case)),
        "uncertainty_expressed": expresses_uncertainty(case.draft),
    }
