"""Thresholds for some events only: by a label."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import TypeVar

from worker.assessment.policies.outcomes import Policy
from worker.assessment.values import DraftCase

AnyPolicy = TypeVar("AnyPolicy", bound=Policy)
Thresholds = Mapping[str, Mapping[str, float]]

_MOST = 50
"""Most conditions of an account."""
_LABEL = re.compile(r"label:([^=\s]{1,100})=(\S.{0,199})")


def check_thresholds(policy: Policy, known: Sequence[str], rules: Thresholds) -> None:
    """Raise ``ValueError`` for the first condition, field (of ``known``) or value that is wrong.

    Every two conditions may apply together, so every pair must give a valid policy; then every set does.
    """
    if len(rules) > _MOST:
        raise ValueError(f"thresholds: expected at most {_MOST} conditions, got {len(rules)}")
    for condition, values in rules.items():
        if _LABEL.fullmatch(condition) is None:
            raise ValueError(f"thresholds: expected a condition label:NAME=VALUE, got {condition[:80]!r}")
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
    if not values:
        return policy
    return replace(policy, **values)


def _applies(condition: str, case: DraftCase) -> bool:
    """Whether the event, or one of its passages, has the label."""
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
