"""Thresholds for some events only: which conditions apply, and which are refused."""

from __future__ import annotations

import pytest

from tests.unit.assessment.samples import evidence, passage
from worker.assessment import (
    DraftCase,
    Evidence,
    parse_delivery,
    parse_policy,
    thresholds_of,
    with_thresholds,
)
from worker.assessment.policies.designs import DESIGNS
from worker.errors import PolicyRejected
from worker.model import Json

RULES = {
    "label:subject=tax": {"send_at": 0.95},
    "label:country=vn": {"send_at": 0.9, "min_agreement": 0.7},
}


def case(found: Evidence) -> DraftCase:
    """A question with its evidence."""
    return DraftCase(query="What does it cost?", evidence=found, draft="")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (evidence(0.9), {}),
        (Evidence(expected_metadata={"subject": "tax"}), {"send_at": 0.95}),
        (Evidence(expected_metadata={"subject": "law"}), {}),
        (Evidence(passages=(passage(country="vn"),)), {"send_at": 0.9, "min_agreement": 0.7}),
        (
            Evidence(passages=(passage(country="vn"),), expected_metadata={"subject": "tax"}),
            {"send_at": 0.95, "min_agreement": 0.7},
        ),
    ],
)
def test_the_highest_value_of_the_conditions_that_apply_counts(
    found: Evidence, expected: dict[str, float]
) -> None:
    """By a label of the event or of a passage."""
    assert thresholds_of(case(found), RULES) == expected


def test_a_condition_replaces_the_policy_s_own_threshold() -> None:
    """Also with a lower value; other fields stay."""
    policy = parse_policy({"send_at": 0.9, "require_citations": True})

    assert with_thresholds(policy, {"send_at": 0.5}) == parse_policy(
        {"send_at": 0.5, "require_citations": True}
    )
    assert with_thresholds(policy, {}) is policy


@pytest.mark.parametrize("name", DESIGNS)
def test_every_threshold_of_every_policy_can_be_set(name: str) -> None:
    """Each listed field exists and takes a share."""
    for field in DESIGNS[name].thresholds:
        rules: Json = {"label:subject=tax": {field: 0.8}}

        assert parse_delivery({"name": name, "thresholds": rules}).thresholds == rules
        assert getattr(with_thresholds(parse_policy({"name": name}), {field: 0.8}), field) == 0.8


@pytest.mark.parametrize(
    ("name", "rules", "problem"),
    [
        (
            "calibrated",
            {"subject=tax": {"send_at": 1}},
            "thresholds: expected a condition label:NAME",
        ),
        ("calibrated", {"label:tax": {"send_at": 1}}, "thresholds: expected a condition label:NAME"),
        ("calibrated", {"kind:poem": {"send_at": 1}}, "thresholds: expected a condition label:NAME"),
        ("calibrated", {"label:a=1": {}}, "thresholds.label:a=1: expected fields of send"),
        (
            "calibrated",
            {"label:a=1": {"gate": 1}},
            "thresholds.label:a=1: expected fields of send",
        ),
        ("safety", {"label:a=1": {"send_at": 1}}, "thresholds.label:a=1: expected fields of min_ret"),
        ("calibrated", {"label:a=1": {"send_at": 2}}, "thresholds.label:a=1: send_at: expected a num"),
        ("calibrated", {"label:a=1": {"send_at": "x"}}, "thresholds.label:a=1.send_at: expected"),
        ("guardrail", {"label:a=1": {"high_threshold": 0.4}}, "thresholds.label:a=1: medium_thresh"),
        (
            "guardrail",
            {"label:a=1": {"high_threshold": 0.6}, "label:a=2": {"medium_threshold": 0.7}},
            "thresholds.label:a=1 with label:a=2: medium_threshold",
        ),
        (
            "calibrated",
            {f"label:a={n}": {"send_at": 1} for n in range(51)},
            "thresholds: expected at most",
        ),
    ],
)
def test_a_wrong_condition_is_refused_by_name(name: str, rules: Json, problem: str) -> None:
    """Conditions, fields, values, and two conditions that contradict each other."""
    with pytest.raises(PolicyRejected) as refused:
        parse_policy({"name": name, "thresholds": rules})

    assert str(refused.value).startswith(problem)
