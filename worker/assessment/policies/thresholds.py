"""Thresholds for some events only: by a label, or by the kind of evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations_with_replacement
from types import MappingProxyType
from typing import Any, TypeVar

from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.policies.consensus import ConsensusPolicy
from worker.assessment.policies.failsafe_policy import FailsafePolicy
from worker.assessment.policies.guardrail import GuardrailPolicy
from worker.assessment.policies.safety_checks import SafetyPolicy
from worker.assessment.policies.validators import ValidatorsPolicy
from worker.assessment.signals.grounds import EvidenceKind, evidence_grounds
from worker.assessment.values import DraftCase

AnyPolicy = TypeVar(
    "AnyPolicy",
    bound=CalibratedPolicy
    | FailsafePolicy
    | GuardrailPolicy
    | ValidatorsPolicy
    | SafetyPolicy
    | ConsensusPolicy,
)
Thresholds = Mapping[str, Mapping[str, float]]

THRESHOLDS: Mapping[type, tuple[str, ...]] = MappingProxyType(
    {
        CalibratedPolicy: ("send_at", "reject_below", "judge_accepts", "min_percentile"),
        FailsafePolicy: ("confidence_threshold", "judge_below"),
        GuardrailPolicy: ("high_threshold", "medium_threshold"),
        ValidatorsPolicy: ("evidence_threshold",),
        SafetyPolicy: (
            "min_retrieval_confidence",
            "min_similarity_score",
            "min_rerank_score",
            "min_citation_coverage",
            "min_grounding_score",
            "max_topic_mismatch_score",
        ),
        ConsensusPolicy: ("min_agreement", "min_support"),
    }
)
"""Policy -> its fields that a condition may set; a higher value is always stricter."""

_MOST = 50
"""Most conditions of an account."""
_LABEL = re.compile(r"label:([^=\s]{1,100})=(\S.{0,199})")
_KINDS = tuple(f"kind:{kind}" for kind in EvidenceKind)


def check_thresholds(policy: AnyPolicy, rules: Thresholds) -> None:
    """Raise ``ValueError`` for the first condition, field or value that is wrong.

    Every two conditions may apply together, so every pair must give a valid policy; then every set does.
    """
    if len(rules) > _MOST:
        raise ValueError(f"thresholds: expected at most {_MOST} conditions, got {len(rules)}")
    known = THRESHOLDS[type(policy)]
    for condition, values in rules.items():
        if condition not in _KINDS and _LABEL.fullmatch(condition) is None:
            expected = f"label:NAME=VALUE, {', '.join(_KINDS)}"
            raise ValueError(f"thresholds: expected a condition {expected}, got {condition[:80]!r}")
        if not values or (unknown := sorted(values.keys() - set(known))):
            shown = ", ".join(unknown) if values else "none"
            raise ValueError(f"thresholds.{condition}: expected fields of {', '.join(known)}, got {shown}")
    for one, two in combinations_with_replacement(rules, 2):
        try:
            with_thresholds(policy, _highest(rules[one], rules[two]))
        except ValueError as error:
            raise ValueError(f"thresholds.{one}{'' if one == two else f' with {two}'}: {error}") from error


def thresholds_of(case: DraftCase, rules: Thresholds) -> dict[str, float]:
    """The fields that the conditions of this event set; the highest value if several set the same."""
    return _highest(*(values for condition, values in rules.items() if _applies(condition, case)))


def with_thresholds(policy: AnyPolicy, values: Mapping[str, float]) -> AnyPolicy:
    """The policy with these fields."""
    fields: Mapping[str, Any] = values
    return replace(policy, **fields) if fields else policy


def _applies(condition: str, case: DraftCase) -> bool:
    """Whether the event, or one of its passages, has the label, or the evidence is of the kind."""
    if condition in _KINDS:
        return condition == f"kind:{evidence_grounds(case.query, case.context).kind}"
    found = _LABEL.fullmatch(condition)
    if found is None:
        return False
    labels = (case.evidence.expected_metadata, *(each.metadata for each in case.evidence.passages))
    return any(each.get(found[1]) == found[2] for each in labels)


def _highest(*several: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for values in several:
        for name, value in values.items():
            found[name] = max(value, found.get(name, value))
    return found
