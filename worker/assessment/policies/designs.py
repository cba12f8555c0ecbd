"""The table of policies, and what any of them can be asked; the parser of an account's JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from worker.assessment.policies import calibrated, consensus, failsafe, guardrail, safety, validators
from worker.assessment.policies.delivery import DELIVERY_FIELDS, Delivery
from worker.assessment.policies.design import Design
from worker.assessment.policies.outcomes import Policy
from worker.assessment.policies.thresholds import check_thresholds
from worker.assessment.values import SearchBounds
from worker.errors import PolicyRejected
from worker.expectations import expectation, place_of
from worker.model import Assessment, Json

DESIGNS: Final[Mapping[str, Design[Any]]] = MappingProxyType(
    {
        each.name: each
        for each in (
            calibrated.DESIGN,
            failsafe.DESIGN,
            guardrail.DESIGN,
            validators.DESIGN,
            safety.DESIGN,
            consensus.DESIGN,
        )
    }
)
"""Name -> design."""
DEFAULT_DESIGN: Final = next(iter(DESIGNS))

NO_DEFAULTS: Mapping[str, Mapping[str, Json]] = MappingProxyType({})

_ADAPTERS: Mapping[str, TypeAdapter[Policy]] = MappingProxyType(
    {
        name: TypeAdapter(with_config(ConfigDict(extra="forbid"))(design.settings))
        for name, design in DESIGNS.items()
    }
)


_NAMES: Final = {design.settings: name for name, design in DESIGNS.items()}
_DELIVERY = TypeAdapter(with_config(ConfigDict(extra="forbid"))(Delivery))


def design_name(policy: Policy) -> str:
    """The name of a policy's design, such as ``calibrated``."""
    return _NAMES[type(policy)]


def design_of(policy: Policy) -> Design[Any]:
    """The design of a policy."""
    return DESIGNS[design_name(policy)]


def following_policy(policy: Policy) -> Policy | None:
    """The policy that assesses what this policy would send: FailsafeNode's Failsafe -> Guardrail."""
    following = design_of(policy).following(policy)
    return following if following is not None and following.enabled else None


def initial_search(policy: Policy) -> SearchBounds:
    """The search before the first draft; the limits of the policy that follows count, if one is set."""
    searching = design_of(policy).following(policy) or policy
    return design_of(searching).search(searching)


def recheck_search(policy: Policy) -> SearchBounds | None:
    """The search of a recheck, or None for a policy that never rechecks."""
    searching = design_of(policy).following(policy) or policy
    return design_of(searching).recheck(searching)


def checks_labels(policy: Policy) -> bool:
    """Whether the policy checks labels, so that a search must not filter by them (Safety Mechanism)."""
    return design_of(policy).checks_labels


def drafting_models(policy: Policy) -> tuple[str, ...]:
    """The models that draft together; empty for a policy that asks the account's model alone."""
    return design_of(policy).models(policy) if policy.enabled else ()


def published_record(found: Assessment) -> dict[str, Json] | None:
    """The message metadata that the design of an assessment publishes, under the published names."""
    design = DESIGNS.get(found.policy.partition("@")[0])
    return design.published(found.diagnostics) if design else None


def log_entry(found: Assessment) -> dict[str, Json] | None:
    """The entry of the log that the design of a stamped assessment publishes."""
    design = DESIGNS.get(found.policy.partition("@")[0])
    return design.log_entry(found.diagnostics) if design else None


def default_name(data: Mapping[str, Json]) -> str:
    """The name of the design in an account's JSON."""
    return str(data.get("name", DEFAULT_DESIGN))


def default_policy(name: str) -> Policy:
    """A design with its defaults.

    Raises:
        PolicyRejected: there is no design of that name.
    """
    return parse_policy({"name": name})


def parse_delivery(data: Json) -> Delivery:
    """The options of delivery in an account's policy; absent ones keep their defaults.

    Raises:
        PolicyRejected: with one line for each wrong field.
    """
    if not isinstance(data, dict):
        raise PolicyRejected([f"policy: expected a JSON object, got {type(data).__name__}"])
    options = {key: value for key, value in data.items() if key in DELIVERY_FIELDS}
    try:
        return _DELIVERY.validate_json(json.dumps(options), strict=True)
    except ValidationError as error:
        raise PolicyRejected(_problems(error)) from error


def usable_policy(
    data: Mapping[str, Json], deployment: Mapping[str, Mapping[str, Json]]
) -> tuple[Policy, Delivery, tuple[str, ...]]:
    """Policy and delivery of an account; the default ones, with the problems, when the stored one is invalid.

    ``deployment`` as of :func:`parse_policy`.
    """
    stored = dict(data)
    try:
        return parse_policy(stored, deployment), parse_delivery(stored), ()
    except PolicyRejected as error:
        return parse_policy({}), Delivery(), tuple(error.problems)


def parse_policy(data: Json, deployment: Mapping[str, Mapping[str, Json]] = NO_DEFAULTS) -> Policy:
    """An account's policy from ``{"name": "guardrail", "highThreshold": 0.9}``; absent fields keep defaults.

    ``deployment`` has defaults by design and field, which come before those of the design. An empty object
    (``{}``) means the default design, ``calibrated``. The options of delivery are checked too
    and read by :func:`parse_delivery`.

    Raises:
        PolicyRejected: with one line for each wrong field.
    """
    delivery = parse_delivery(data)
    if not isinstance(data, dict):
        raise PolicyRejected([f"policy: expected a JSON object, got {type(data).__name__}"])
    fields = {key: value for key, value in data.items() if key not in DELIVERY_FIELDS}
    name = fields.pop("name", DEFAULT_DESIGN)
    if not isinstance(name, str) or name not in DESIGNS:
        raise PolicyRejected([f"name: expected one of {', '.join(DESIGNS)}, got {name!r}"])
    design = DESIGNS[name]
    if given := [each for each in design.set_in_code if each in fields]:
        raise PolicyRejected([f"{each}: expected to be set in code, got a value in JSON" for each in given])
    nested = {each: fields.pop(each) for each in design.nested if each in fields}
    own = {design.published_names.get(key, key): value for key, value in fields.items()}
    renamed = {**deployment.get(name, {}), **own}
    try:
        policy = _ADAPTERS[name].validate_json(json.dumps(renamed), strict=True)
        check_thresholds(policy, design.thresholds, delivery.thresholds)
    except ValidationError as error:
        raise PolicyRejected(_problems(error)) from error
    except ValueError as error:
        raise PolicyRejected([str(error)]) from error
    if design.models(policy) and delivery.retry_with is not None:
        raise PolicyRejected([f"retry_with: expected none with {name}, which asks several models already"])
    following = {each: _nested(name, each, value) for each, value in nested.items() if value is not None}
    return replace(policy, **following) if following else policy


def _nested(name: str, field: str, data: Json) -> Policy:
    """The policy in a field of another policy; problems name its fields as ``guardrail.high_threshold``."""
    design = DESIGNS[name].nested[field]
    if not isinstance(data, dict):
        raise PolicyRejected([f"{field}: expected a JSON object, got {type(data).__name__}"])
    if data.get("name", design) != design:
        raise PolicyRejected([f"{field}.name: expected {design}, got {data['name']!r}"])
    if data.get("test_mode", data.get("testMode", False)):
        raise PolicyRejected([f"{field}.test_mode: expected test_mode of the {name}, got one of its own"])
    try:
        return parse_policy({**data, "name": design})
    except PolicyRejected as error:
        raise PolicyRejected([f"{field}.{problem}" for problem in error.problems]) from error


def _problems(error: ValidationError) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False, include_context=False):
        place = place_of(problem["loc"]) or "policy"
        if problem["type"] == "unexpected_keyword_argument":
            lines.append(f"{place}: there is no such field")
            continue
        message = expectation(problem["msg"])
        own = problem["type"] == "value_error" and (not problem["loc"] or message.startswith(place))
        lines.append(message if own else f"{place}: expected {message}, got {str(problem['input'])[:120]!r}")
    return lines
