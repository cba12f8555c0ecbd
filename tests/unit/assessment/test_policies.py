"""Policies as data: parsed from an account's JSON, with errors that name field, expectation and what came."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest

from worker.assessment import default_policy, parse_policy
from worker.assessment.policies.calibrated import CalibratedPolicy
from worker.assessment.policies.designs import DESIGNS, design_name
from worker.assessment.policies.safety_checks import SafetyPolicy
from worker.errors import PolicyRejected
from worker.model import Json
from worker.settings import Settings

ROOT: Final = Path(__file__).parents[3]
MODULES: Final = tuple(
    path
    for package in ("worker", "tasks", "db", "review", "cli", "gateway")
    for path in sorted((ROOT / package).rglob("*.py"))
    if path.parent.name != "policies"
)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_has_defaults(name: str) -> None:
    """A policy may be only a name."""
    assert design_name(default_policy(name)) == name


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_names_fields_of_its_settings_only(name: str) -> None:
    """Limits, thresholds, published names, defaults of the deployment and nested policies."""
    design = DESIGNS[name]
    named = {
        *design.thresholds,
        *filter(None, (design.main_threshold,)),
        *design.published_names.values(),
        *design.set_in_code,
        *design.environment.values(),
        *design.nested,
        *(limit.threshold for limit in design.limits),
    }

    assert named <= {each.name for each in fields(design.settings)}
    assert set(design.environment) <= set(Settings.model_fields)
    assert set(design.nested.values()) <= set(DESIGNS)
    assert design.summary


def test_only_its_own_module_names_a_policy() -> None:
    """No code outside asks which policy it has; a new one needs a module and a line of the table."""
    classes = "|".join(design.settings.__name__ for design in DESIGNS.values())
    named = re.compile(rf"\b(?:{classes})\b")

    assert [str(path) for path in MODULES if named.search(path.read_text())] == []


def test_an_account_that_says_nothing_has_the_calibrated_policy() -> None:
    """The empty object of ai_rules.assessment_policy."""
    assert parse_policy({}) == CalibratedPolicy()


def test_fields_override_defaults() -> None:
    """Strings become closed sets, lists become tuples."""
    policy = parse_policy(
        {
            "name": "safety",
            "min_grounding_score": 0.9,
            "low_action": "escalate",
            "hallucination_patterns": ["x"],
        }
    )

    assert policy == SafetyPolicy(
        min_grounding_score=0.9, low_action=policy.low_action, hallucination_patterns=("x",)
    )
    assert policy.low_action == "escalate"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "policy: expected a JSON object, got list"),
        (
            {"name": "magic"},
            "safety, consensus, got 'magic'",
        ),
        ({"name": 7}, "got 7"),
        ({"name": "safety", "min_grounding": 1}, "min_grounding: there is no such field"),
        ({"name": "safety", "min_grounding_score": "0.9"}, "min_grounding_score: expected"),
        (
            {"name": "safety", "min_grounding_score": 1.5},
            "min_grounding_score: expected a number from 0 to 1, got 1.5",
        ),
        (
            {"name": "guardrail", "mediumThreshold": 0.9},
            "medium_threshold: expected at most high_threshold (0.8), got 0.9",
        ),
        ({"low_action": "send"}, "low_action: expected fallback, escalate or silence, got send"),
        (
            {"undecided_action": "recheck"},
            "undecided_action: expected send, hold, fallback, escalate or silence, got recheck",
        ),
        ({"send_at": 2}, "send_at: expected a number from 0 to 1, got 2"),
        ({"send_at": None}, "send_at: expected a valid number, got 'None'"),
        ({"low_action": "explode"}, "low_action: expected"),
        ({"low_action": "hold"}, "low_action: expected fallback, escalate or silence, got hold"),
        ({"judge_sentences": 4}, "judge_sentences: there is no such field"),
        ({"model": {"version": 1}}, "model: there is no such field"),
        (
            {"name": "guardrail", "initial_documents": -1},
            "initial_documents: expected a number from 1 to 100, got -1",
        ),
        ({"name": "guardrail", "recheck_documents": 0}, "recheck_documents: expected a number from 1 to 100"),
        ({"name": "safety", "min_chunks_required": -1}, "min_chunks_required: expected a number from 0 to"),
        ({"name": "safety", "min_total_context_length": -1}, "min_total_context_length: expected a number"),
        ({"name": "safety", "hallucination_patterns": [" "]}, "hallucination_patterns: expected phrases"),
        ({"name": "validators", "learning_interval_hours": 0}, "learning_interval_hours: expected a number"),
        ({"name": "failsafe", "preview_chars": -1}, "preview_chars: expected a number from 0 to"),
        ({"name": "failsafe", "responses": {"TIMEOUTS": "Later."}}, "responses: expected categories of TOOL"),
        (
            {"name": "validators", "ethics_guard": "print"},
            "ethics_guard: expected to be set in code, got a value in JSON",
        ),
        (
            {"name": "validators", "ethics_principles": {"calm": ["never", " "]}},
            "ethics_principles.calm: expected phrases, got an empty one",
        ),
    ],
)
def test_a_wrong_policy_is_refused_by_field(data: Json, problem: str) -> None:
    """field: expected ..., got ..."""
    with pytest.raises(PolicyRejected) as caught:
        parse_policy(data)

    assert any(problem in line for line in caught.value.problems), caught.value.problems


def test_every_problem_is_reported_at_once() -> None:
    """All problems of a policy are reported together."""
    with pytest.raises(PolicyRejected) as caught:
        parse_policy({"name": "safety", "min_grounding_score": "x", "require_citations": "y"})

    assert len(caught.value.problems) == 2
