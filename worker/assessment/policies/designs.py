"""The policy designs: their names, their defaults, and the parser of an account's JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from worker.assessment.policies import calibrated, consensus, failsafe, guardrail, safety, validators
from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.policies.consensus import ConsensusPolicy
from worker.assessment.policies.delivery import DELIVERY_FIELDS, Delivery
from worker.assessment.policies.failsafe_policy import FailsafePolicy
from worker.assessment.policies.guardrail import GuardrailPolicy
from worker.assessment.policies.safety_checks import SafetyPolicy
from worker.assessment.policies.thresholds import check_thresholds
from worker.assessment.policies.validators import ValidatorsPolicy
from worker.assessment.reading.asking import NOTHING, DraftReading, Wanted
from worker.assessment.values import DraftCase
from worker.errors import PolicyRejected
from worker.model import Assessment, Json

Policy: TypeAlias = (
    CalibratedPolicy | FailsafePolicy | GuardrailPolicy | ValidatorsPolicy | SafetyPolicy | ConsensusPolicy
)


def _never(_case: DraftCase, _policy: Any) -> Assessment | None:
    """No refusal before generation."""
    return None


def _nothing(_case: DraftCase, _policy: Any) -> Wanted:
    """No judge."""
    return NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What a policy can do; the functions get a case and the design's own settings.

    Attributes:
        settings: the class of its settings; an account's JSON sets its fields.
        assess: the assessment of a draft; the reading is None when none was wanted.
        wanted: what a judge must read for it.
        early_refusal: the refusal before generation, or None.
        thresholds: fields that a condition may set; a higher value is always stricter.
        main_threshold: the field that reviews may move; empty: none.
        published_names: names of fields in the published design -> ours.
        checks_labels: whether it checks labels itself, so that a search must not filter by them.
    """

    settings: type[Any]
    assess: Callable[[DraftCase, Any, DraftReading | None], Assessment]
    wanted: Callable[[DraftCase, Any], Wanted] = _nothing
    early_refusal: Callable[[DraftCase, Any], Assessment | None] = _never
    thresholds: tuple[str, ...] = ()
    main_threshold: str = ""
    published_names: Mapping[str, str] = field(default_factory=dict)
    checks_labels: bool = False


DESIGNS: Mapping[str, Design] = MappingProxyType(
    {
        "calibrated": Design(
            settings=CalibratedPolicy,
            assess=calibrated.assessment,
            wanted=calibrated.wanted,
            early_refusal=calibrated.early_refusal,
            thresholds=("send_at",),
            main_threshold="send_at",
        ),
        "failsafe": Design(
            settings=FailsafePolicy,
            assess=failsafe.assessment,
            wanted=failsafe.wanted,
            thresholds=("confidence_threshold", "judge_below"),
            main_threshold="confidence_threshold",
            published_names={"failsafe_enabled": "enabled"},
        ),
        "guardrail": Design(
            settings=GuardrailPolicy,
            assess=guardrail.assessment,
            wanted=guardrail.wanted,
            thresholds=("high_threshold", "medium_threshold"),
            main_threshold="high_threshold",
            published_names={
                "highThreshold": "high_threshold",
                "mediumThreshold": "medium_threshold",
                "enableRecheck": "enable_recheck",
                "enableEscalation": "enable_escalation",
                "fallbackMessage": "fallback_message",
                "testMode": "test_mode",
            },
        ),
        "validators": Design(
            settings=ValidatorsPolicy,
            assess=lambda case, policy, _: validators.assess_draft(case, policy),
            thresholds=("evidence_threshold",),
            published_names={
                "ENABLE_VALIDATORS": "enabled",
                "VALIDATOR_EVIDENCE_THRESHOLD": "evidence_threshold",
            },
        ),
        "safety": Design(
            settings=SafetyPolicy,
            assess=lambda case, policy, _: safety.assess_draft(case, policy),
            early_refusal=safety.early_refusal,
            thresholds=(
                "min_retrieval_confidence",
                "min_similarity_score",
                "min_rerank_score",
                "min_citation_coverage",
                "min_grounding_score",
                "max_topic_mismatch_score",
            ),
            checks_labels=True,
        ),
        "consensus": Design(
            settings=ConsensusPolicy,
            assess=consensus.assessment,
            wanted=consensus.wanted,
            early_refusal=consensus.early_refusal,
            thresholds=("min_agreement", "send_at"),
        ),
    }
)
"""Name -> design; the first is the default."""

NO_DEFAULTS: Mapping[str, Mapping[str, Json]] = MappingProxyType({})

_ADAPTERS: Mapping[str, TypeAdapter[Policy]] = MappingProxyType(
    {
        name: TypeAdapter(with_config(ConfigDict(extra="forbid"))(design.settings))
        for name, design in DESIGNS.items()
    }
)


_DELIVERY = TypeAdapter(with_config(ConfigDict(extra="forbid"))(Delivery))


def design_name(policy: Policy) -> str:
    """The name of a policy's design, such as ``calibrated``."""
    return next(name for name, design in DESIGNS.items() if isinstance(policy, design.settings))


def design_of(policy: Policy) -> Design:
    """The design of a policy."""
    return DESIGNS[design_name(policy)]


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
    name = fields.pop("name", next(iter(DESIGNS)))
    if not isinstance(name, str) or name not in DESIGNS:
        raise PolicyRejected([f"name: expected one of {', '.join(DESIGNS)}, got {name!r}"])
    if "ethics_guard" in fields:
        raise PolicyRejected(["ethics_guard: expected to be set in code, got a value in JSON"])
    following = fields.pop("guardrail", None) if name == "failsafe" else None
    own = {DESIGNS[name].published_names.get(key, key): value for key, value in fields.items()}
    renamed = {**deployment.get(name, {}), **own}
    try:
        policy = _ADAPTERS[name].validate_json(json.dumps(renamed), strict=True)
        check_thresholds(policy, DESIGNS[name].thresholds, delivery.thresholds)
    except ValidationError as error:
        raise PolicyRejected(_problems(error)) from error
    except ValueError as error:
        raise PolicyRejected([str(error)]) from error
    if isinstance(policy, ConsensusPolicy) and delivery.retry_with is not None:
        raise PolicyRejected(["retry_with: expected none with consensus, which asks several models already"])
    if following is not None and isinstance(policy, FailsafePolicy):
        return replace(policy, guardrail=_following_guardrail(following))
    return policy


def _following_guardrail(data: Json) -> GuardrailPolicy:
    """The guardrail after a failsafe; problems name its fields as ``guardrail.high_threshold``."""
    if not isinstance(data, dict):
        raise PolicyRejected([f"guardrail: expected a JSON object, got {type(data).__name__}"])
    if data.get("name", "guardrail") != "guardrail":
        raise PolicyRejected([f"guardrail.name: expected guardrail, got {data['name']!r}"])
    if data.get("test_mode", data.get("testMode", False)):
        raise PolicyRejected(["guardrail.test_mode: expected test_mode of the failsafe, got one of its own"])
    try:
        found = parse_policy({**data, "name": "guardrail"})
    except PolicyRejected as error:
        raise PolicyRejected([f"guardrail.{problem}" for problem in error.problems]) from error
    assert isinstance(found, GuardrailPolicy)  # by its name
    return found


def _problems(error: ValidationError) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False, include_context=False):
        place = ".".join(str(part) for part in problem["loc"]) or "policy"
        if problem["type"] == "unexpected_keyword_argument":
            lines.append(f"{place}: there is no such field")
            continue
        message = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        own = problem["type"] == "value_error" and (not problem["loc"] or message.startswith(place))
        lines.append(message if own else f"{place}: expected {message}, got {str(problem['input'])[:120]!r}")
    return lines
