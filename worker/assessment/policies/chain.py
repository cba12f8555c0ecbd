"""A guardrail after a failsafe: FailsafeNode's order Failsafe -> Guardrail -> Response."""

from __future__ import annotations

from dataclasses import replace

from worker.assessment.policies.designs import Policy
from worker.assessment.policies.failsafe_policy import FailsafePolicy
from worker.assessment.policies.guardrail import GuardrailPolicy
from worker.model import Assessment


def following_policy(policy: Policy) -> GuardrailPolicy | None:
    """The guardrail that assesses next what a failsafe would send."""
    if not isinstance(policy, FailsafePolicy) or policy.guardrail is None:
        return None
    return policy.guardrail if policy.guardrail.enabled else None


def searching_policy(policy: Policy) -> Policy:
    """The policy whose search limits count: the guardrail after a failsafe."""
    return policy.guardrail if isinstance(policy, FailsafePolicy) and policy.guardrail else policy


def chained_assessment(failsafe_found: Assessment, found: Assessment) -> Assessment:
    """The guardrail's assessment, with the record of the failsafe that the draft passed."""
    return replace(
        found,
        passed_checks=("failsafe", *found.passed_checks),
        signals={**failsafe_found.signals, **found.signals},
        diagnostics={**found.diagnostics, "failsafe": dict(failsafe_found.diagnostics)},
    )
