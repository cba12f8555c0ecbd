"""The options of delivery in an account's policy: defaults and refused values."""

from __future__ import annotations

import pytest

from worker.assessment import Delivery, FallbackLevel, parse_delivery, parse_policy
from worker.assessment.policies.designs import DESIGNS
from worker.errors import PolicyRejected
from worker.model import Json


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
