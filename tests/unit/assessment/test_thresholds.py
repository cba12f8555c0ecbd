"""Options of delivery and thresholds for some events only: which apply, and which are refused."""

from __future__ import annotations

import pytest

from tests.unit.assessment.samples import evidence, passage
from worker.assessment import (
    Delivery,
    DraftCase,
    Evidence,
    FallbackLevel,
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


def test_by_default_the_policy_decides_alone() -> None:
    """No partial answers, no text on the confidence."""
    found = parse_delivery({})

    assert found == Delivery()
    assert (found.fallback_levels, found.tell_confidence) == ((FallbackLevel.POLICY,), False)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_policy_has_the_same_options(name: str) -> None:
    """They change nothing in the policy's own fields."""
    options: dict[str, Json] = {
        "fallback_levels": ["partial", "text", "handoff", "silence"],
        "tell_confidence": True,
    }

    assert parse_policy({"name": name, **options}) == parse_policy({"name": name})
    assert parse_delivery({"name": name, **options}).fallback_levels == (
        FallbackLevel.PARTIAL,
        FallbackLevel.TEXT,
        FallbackLevel.HANDOFF,
        FallbackLevel.SILENCE,
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"fallback_levels": []}, "fallback_levels: expected at least one level, each once, got none"),
        (
            {"fallback_levels": ["text", "text"]},
            "fallback_levels: expected at least one level, each once, got text, text",
        ),
        ({"fallback_levels": ["shout"]}, "fallback_levels.0: expected 'partial', 'text', "),
        ({"partial_min_share": 0}, "partial_min_share: expected a number above 0, at most 1, got 0"),
        ({"tell_confidence": "yes"}, "tell_confidence: expected a valid boolean, got 'yes'"),
        ({"missing_texts": {"en": "x" * 2001}}, "missing_texts, confidence_texts, suggestion_texts: "),
        ({"retry_with": {"below": 0.5}}, "retry_with: expected a model, a prompt or both, got none"),
        ({"retry_with": {"below": 0, "model": "x"}}, "retry_with.below: expected a number above 0"),
        ({"retry_with": {"below": 0.5, "url": "x"}}, "retry_with.url: "),
        ({"name": "consensus", "retry_with": {"below": 0.5, "model": "x"}}, "retry_with: expected none with"),
        ({"confidence_texts": {"en": {"top": "x"}}}, "confidence_texts.en.top"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, object], problem: str) -> None:
    """Before it is stored."""
    with pytest.raises(PolicyRejected) as refused:
        parse_policy(options)  # type: ignore[arg-type]

    assert str(refused.value).startswith(problem)
