"""Policy ``validators`` (Confidence Validation & Fallback): a chain of validators, then a score."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from worker.assessment.non_answers import admits_ignorance, is_non_answer
from worker.assessment.policies.design import Design, MeasuredLimit, Record
from worker.assessment.policies.outcomes import check_policy, policy_name
from worker.assessment.policies.texts import texts, words
from worker.assessment.policies.validator_metrics import ValidatorCounts, metrics_from_counts
from worker.assessment.text.citations import citation_check, without_citations
from worker.assessment.text.language import author_language
from worker.assessment.text.quantities import MEASURES, stated_quantities
from worker.assessment.text.topics import unknown_topics
from worker.assessment.text.wordlists import folded_text, phrase_pattern
from worker.assessment.text.words import normalised_text, text_units
from worker.assessment.values import DraftCase
from worker.model import Action, Assessment, Json, Tier

OVERCONFIDENCE_PATTERNS = words("overconfidence")
"""Confidence Validation: "Definitely X", "Chắc chắn 100%", etc."""
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|\w+n't|nothing is|không|chưa|chẳng) (?:(?:be|been|quite|yet|thể|hề|dám|phải) )*"
    r"(?:definitely|absolutely|certainly|100%|guaranteed|chắc chắn|hoàn toàn chắc)(?!\w)"
    r"|(?:不|没|沒)(?:能|敢|太|是|可以|会)?(?:绝对|肯定|百分之百)"
)

FALLBACKS: Mapping[str, str] = texts("validators_fallbacks")
LEARNING: Mapping[str, str] = texts("validators_learning")


class ValidatorFault(StrEnum):
    """Why a validator failed; the first three are Confidence Validation's own words."""

    MISSING_UNCERTAINTY = "missing_uncertainty_no_context"
    MISSING_CITATION = "missing_citation"
    LOW_OVERLAP = "low_overlap"
    OVERCONFIDENT = "overconfident_no_context"
    NUMERIC_UNITS = "numeric_units_unsupported"
    ETHICS = "ethics"


FALLBACK_TRIGGERS = frozenset(
    {
        ValidatorFault.MISSING_UNCERTAINTY,
        ValidatorFault.OVERCONFIDENT,
        ValidatorFault.MISSING_CITATION,
        ValidatorFault.LOW_OVERLAP,
    }
)
"""Confidence Validation, "Fallback Triggers": each of them when there is no context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorsPolicy:
    """Confidence Validation's configuration.

    Attributes:
        enabled: the switch ``ENABLE_VALIDATORS``.
        evidence_threshold: 0..1, share of the reply's words that must occur in the context
            (``VALIDATOR_EVIDENCE_THRESHOLD``, 0.01).
        min_confidence: 0..1, a reply below it is not sent; 0, as published: replies with a passage are sent
            whatever failed. The red scores end at 0.4.
        require_uncertainty_when_no_context: Confidence Validation's ``ConfidenceValidator`` option.
        ethics_guard: called with the reply; returns the principle that it breaks or an empty string; not
            settable from JSON (Confidence Validation: ``EthicsAdapter(guard_callable=None)``).
        ethics_principles: the guard of a worker: principle -> phrases that break it, as whole words.
        fallbacks: language -> text; ``{learning}`` is replaced by the sentence on learning.
        learning_interval_hours: how often new sources are learnt (Confidence Validation: every 4 hours); None
            leaves the sentence out, as long as nothing learns.
        low_action: the action for a reply that triggers the fallback.
    """

    version: int = 1
    enabled: bool = True
    test_mode: bool = False
    gate: bool = True
    evidence_threshold: float = 0.01
    min_confidence: float = 0.0
    require_uncertainty_when_no_context: bool = True
    ethics_guard: Callable[[str], str] | None = None
    ethics_principles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fallbacks: Mapping[str, str] = field(default_factory=lambda: dict(FALLBACKS))
    learning_interval_hours: int | None = None
    low_action: Action = Action.FALLBACK

    def __post_init__(self) -> None:
        counts = {"learning_interval_hours": (1, 10_000)}
        check_policy(self, shares=("evidence_threshold", "min_confidence"), counts=counts)
        for principle, phrases in self.ethics_principles.items():
            if not all(phrase.strip() for phrase in phrases):
                raise ValueError(f"ethics_principles.{principle}: expected phrases, got an empty one")


def is_overconfident(text: str) -> bool:
    """Whether a reply claims certainty by a listed phrase; "not guaranteed" claims no certainty."""
    return phrase_pattern(OVERCONFIDENCE_PATTERNS).search(_NEGATED.sub(" ", folded_text(text))) is not None


def context_overlap(case: DraftCase) -> float:
    """0..1, share of the reply's distinct words that occur in the context; 1 for a reply without words."""
    said = set(text_units(normalised_text(without_citations(case.draft))))
    return len(said & set(text_units(normalised_text(case.context)))) / len(said) if said else 1.0


def unsupported_quantities(case: DraftCase) -> tuple[str, ...]:
    """Numbers of the reply that the context lacks or has with another unit of measure."""
    given = stated_quantities(normalised_text(case.context))
    given_numbers = {number for number, _ in given}
    stated = stated_quantities(normalised_text(without_citations(case.draft)))
    return tuple(
        sorted(
            f"{number} {unit}".strip()
            for number, unit in stated
            if number not in given_numbers or (unit in MEASURES and (number, unit) not in given)
        )
    )


def validator_faults(case: DraftCase, policy: ValidatorsPolicy) -> tuple[ValidatorFault, ...]:
    """The failed validators in the design's order: citation, overlap, numbers, confidence, ethics."""
    has_context = bool(case.evidence.passages)
    if not has_context and is_non_answer(case.draft):
        # an honest "I don't know" has nothing to cite; the design contradicts itself here
        return (ValidatorFault.ETHICS,) if _ethics(case, policy) else ()
    found = []
    check = citation_check(case.draft, case.evidence.passages)
    if check.sentences and len(check.uncited) == check.sentences:
        found.append(ValidatorFault.MISSING_CITATION)
    if context_overlap(case) < policy.evidence_threshold:
        found.append(ValidatorFault.LOW_OVERLAP)
    if has_context and unsupported_quantities(case):
        found.append(ValidatorFault.NUMERIC_UNITS)
    if not has_context and is_overconfident(case.draft):
        found.append(ValidatorFault.OVERCONFIDENT)
    if not has_context and policy.require_uncertainty_when_no_context and not admits_ignorance(case.draft):
        found.append(ValidatorFault.MISSING_UNCERTAINTY)
    if _ethics(case, policy):
        found.append(ValidatorFault.ETHICS)
    return tuple(found)


def _ethics(case: DraftCase, policy: ValidatorsPolicy) -> str:
    """The principle that the reply breaks, by guard, phrases or moderation, or an empty string."""
    if policy.ethics_guard:
        return policy.ethics_guard(case.draft)
    draft = folded_text(case.draft)
    broken = (
        principle
        for principle, phrases in policy.ethics_principles.items()
        if phrases and phrase_pattern(phrases).search(draft)
    )
    return next(broken, case.evidence.moderation_hit)


def confidence_score(documents: int, faults: Sequence[ValidatorFault]) -> float:
    """Confidence Validation's score: 0.2, 0.5 or 0.8 for no, one or more documents; +0.1 when passed.

    Missing uncertainty without context sets 0.1. A missing citation with context costs 0.2, low overlap 0.15,
    any other failure 0.1.
    """
    base = (0.2, 0.5, 0.8)[min(documents, 2)]
    if not faults:
        return min(1.0, round(base + 0.1, 10))
    if ValidatorFault.MISSING_UNCERTAINTY in faults and not documents:
        return 0.1
    taken = {ValidatorFault.MISSING_CITATION: 0.2 if documents else 0.1, ValidatorFault.LOW_OVERLAP: 0.15}
    return max(0.0, round(base - sum(taken.get(fault, 0.1) for fault in faults), 10))


def confidence_tier(score: float) -> Tier:
    """Confidence Validation, "Score Ranges"; its gaps (0.3 to 0.4, 0.6 to 0.7) belong to the range below."""
    if score >= 0.7:
        return Tier.HIGH
    return Tier.MEDIUM if score >= 0.4 else Tier.LOW


def fallback_answer(policy: ValidatorsPolicy, language: str | None) -> str:
    """The safe text for a language, never with the refused reply."""
    code = language if language is not None and language in policy.fallbacks else "en"
    text = policy.fallbacks.get(code, FALLBACKS["en"])
    hours = policy.learning_interval_hours
    learning = "" if hours is None else LEARNING.get(code, LEARNING["en"]).format(hours=hours)
    return text.replace("{learning}", learning)


def assess_draft(case: DraftCase, policy: ValidatorsPolicy) -> Assessment:
    """The assessment; this design asks no judge."""
    faults = validator_faults(case, policy)
    documents = len(case.evidence.passages)
    confidence = confidence_score(documents, faults)
    unsure = not documents and not FALLBACK_TRIGGERS.isdisjoint(faults)
    too_low = confidence < policy.min_confidence
    replaced = unsure or ValidatorFault.ETHICS in faults or too_low
    shown = f"{confidence:.2f}" + (f", below the account's {policy.min_confidence:.2f}" if too_low else "")
    action = policy.low_action if replaced else Action.SEND
    text = fallback_answer(policy, author_language(case)) if action is Action.FALLBACK else None
    return Assessment(
        policy=policy_name("validators", policy.version),
        confidence=confidence,
        tier=confidence_tier(confidence),
        action=action,
        category=faults[0] if faults else "",
        passed_checks=tuple(fault.value for fault in ValidatorFault if fault not in faults),
        failed_checks=tuple(fault.value for fault in faults),
        reasons=tuple(_reason(fault, case, policy) for fault in faults),
        signals={"overlap": context_overlap(case), "documents": float(documents)},
        explanation=f"{documents} documents, {len(faults)} failed validators: confidence {shown}.",
        diagnostics=_validation_info(case, faults, confidence, used_fallback=text is not None),
        fallback_text=text,
        learning_suggestions=unknown_topics(case.query, case.context),
    )


def _reason(fault: ValidatorFault, case: DraftCase, policy: ValidatorsPolicy) -> str:
    """The failed validator, for ethics with the principle."""
    principle = f" ({_ethics(case, policy)})" if fault is ValidatorFault.ETHICS else ""
    return f"failed: {fault.value}{principle}"


def _validation_info(
    case: DraftCase, faults: Sequence[ValidatorFault], confidence: float, *, used_fallback: bool
) -> dict[str, Json]:
    """The design's ``validation_info``, with ``learning_suggestions`` and whether doubt was expressed."""
    return {
        "passed": not faults,
        "reasons": [fault.value for fault in faults],
        "used_fallback": used_fallback,
        "confidence_score": confidence,
        "context_docs_count": len(case.evidence.passages),
        "learning_suggestions": list(unknown_topics(case.query, case.context)),
        "uncertainty_expressed": admits_ignorance(case.draft),
    }


PUBLISHED: Final = ("passed", "reasons", "used_fallback", "confidence_score", "context_docs_count")
"""Confidence Validation, "validation_info Structure"."""


def _published(record: Record) -> dict[str, Json] | None:
    """Confidence Validation, "ChatResponse Model"."""
    if "context_docs_count" not in record:
        return None
    return {
        "confidence_score": record["confidence_score"],
        "validation_info": {name: record[name] for name in PUBLISHED},
        "learning_suggestions": record["learning_suggestions"],
    }


def _metrics(counts: Mapping[str, Any]) -> dict[str, float]:
    known = ValidatorCounts(**{name: counts[name] for name in ValidatorCounts.__slots__})
    return asdict(metrics_from_counts(known)) if known.replies else {}


DESIGN: Final = Design(
    name="validators",
    summary="compares the words with the passages, without a judge model",
    settings=ValidatorsPolicy,
    assess=lambda case, policy, _: assess_draft(case, policy),
    limits=(
        MeasuredLimit(
            measure="words shared with the passages",
            value="overlap",
            threshold="evidence_threshold",
            effect="supported",
        ),
    ),
    rejections=tuple(ValidatorFault),
    thresholds=("evidence_threshold", "min_confidence"),
    published_names={
        "ENABLE_VALIDATORS": "enabled",
        "VALIDATOR_EVIDENCE_THRESHOLD": "evidence_threshold",
    },
    set_in_code=("ethics_guard",),
    environment={
        "validators_enabled": "enabled",
        "validator_evidence_threshold": "evidence_threshold",
    },
    published=_published,
    metrics=_metrics,
)
