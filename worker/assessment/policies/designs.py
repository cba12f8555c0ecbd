"""The five policy designs: their names, their defaults, and the parser of an account's JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from worker.assessment.policies.calibrated import CalibratedPolicy
from worker.assessment.policies.failsafe import FailsafePolicy
from worker.assessment.policies.guardrail import GuardrailPolicy
from worker.assessment.policies.safety_checks import SafetyPolicy
from worker.assessment.policies.validators import ValidatorsPolicy
from worker.errors import PolicyRejected
from worker.model import Json

Policy: TypeAlias = CalibratedPolicy | FailsafePolicy | GuardrailPolicy | ValidatorsPolicy | SafetyPolicy

DESIGNS: Mapping[str, type[Policy]] = MappingProxyType(
    {
        "calibrated": CalibratedPolicy,
        "failsafe": FailsafePolicy,
        "guardrail": GuardrailPolicy,
        "validators": ValidatorsPolicy,
        "safety": SafetyPolicy,
    }
)
"""Name -> policy; the first is the default."""

PUBLISHED_NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "guardrail": {
            "highThreshold": "high_threshold",
            "mediumThreshold": "medium_threshold",
            "enableRecheck": "enable_recheck",
            "enableEscalation": "enable_escalation",
            "fallbackMessage": "fallback_message",
        },
        "failsafe": {"failsafe_enabled": "enabled"},
        "validators": {"ENABLE_VALIDATORS": "enabled", "VALIDATOR_EVIDENCE_THRESHOLD": "evidence_threshold"},
    }
)
"""Field names of the published designs, accepted in addition to Hushgate's."""

NO_DEFAULTS: Mapping[str, Mapping[str, Json]] = MappingProxyType({})

_ADAPTERS: Mapping[str, TypeAdapter[Policy]] = MappingProxyType(
    {name: TypeAdapter(with_config(ConfigDict(extra="forbid"))(design)) for name, design in DESIGNS.items()}
)


def design_name(policy: Policy) -> str:
    """The name of a policy's design, such as ``calibrated``."""
    return next(name for name, design in DESIGNS.items() if isinstance(policy, design))


def default_policy(name: str) -> Policy:
    """A design with its defaults.

    Raises:
        PolicyRejected: there is no design of that name.
    """
    return parse_policy({"name": name})


def parse_policy(data: Json, deployment: Mapping[str, Mapping[str, Json]] = NO_DEFAULTS) -> Policy:
    """An account's policy from ``{"name": "guardrail", "highThreshold": 0.9}``; absent fields keep defaults.

    ``deployment`` has defaults by design and field, which come before those of the design. An empty object
    (``{}``) means the default design, ``calibrated``.

    Raises:
        PolicyRejected: with one line for each wrong field.
    """
    if not isinstance(data, dict):
        raise PolicyRejected([f"policy: expected a JSON object, got {type(data).__name__}"])
    fields = dict(data)
    name = fields.pop("name", next(iter(DESIGNS)))
    if not isinstance(name, str) or name not in DESIGNS:
        raise PolicyRejected([f"name: expected one of {', '.join(DESIGNS)}, got {name!r}"])
    if "ethics_guard" in fields:
        raise PolicyRejected(["ethics_guard: expected to be set in code, got a value in JSON"])
    own = {PUBLISHED_NAMES.get(name, {}).get(key, key): value for key, value in fields.items()}
    renamed = {**deployment.get(name, {}), **own}
    try:
        return _ADAPTERS[name].validate_json(json.dumps(renamed), strict=True)
    except ValidationError as error:
        raise PolicyRejected(_problems(error)) from error


def _problems(error: ValidationError) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False, include_context=False):
        place = ".".join(str(part) for part in problem["loc"]) or "policy"
        if problem["type"] == "unexpected_keyword_argument":
            lines.append(f"{place}: there is no such field")
            continue
        message = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        own = problem["type"] == "value_error" and not problem["loc"]
        lines.append(message if own else f"{place}: expected {message}, got {str(problem['input'])[:120]!r}")
    return lines
