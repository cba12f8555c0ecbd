"""A scenario: the JSON with the latency and the faults of a sandbox from its start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from sandbox.faults import FaultRule, FaultRules, parse_fault
from sandbox.latency import Latency, latency_json, parse_latency, parse_seconds
from sandbox.routes import ROUTE_NAMES, Route

RULE_KEYS = frozenset({"route", "fault", "value", "retry_after_s", "contains", "probability", "times"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The initial state of a sandbox, restored by a reset; the same seed gives the same faults and delays."""

    seed: int = 0
    rules: FaultRules = field(default_factory=FaultRules)


def load_scenario(path: Path) -> Scenario:
    """The scenario of a JSON file; ValueError names the file and the field."""
    try:
        return parse_scenario(orjson.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise ValueError(f"scenario {path}: {error}") from error


def parse_scenario(document: object) -> Scenario:
    """The scenario in an object: ``{"seed": 7, "latency": {...}, "rules": [...]}``, each key optional."""
    fields = _object(document, "scenario", {"seed", "latency", "rules"})
    seed = fields.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ValueError(f"seed: expected an integer, got {seed!r}")  # noqa: TRY004  # one error type for bad configuration
    faults = parse_rules(fields.get("rules", []), prefix="s", first=1)
    return Scenario(
        seed=seed, rules=FaultRules(faults=faults, latency=parse_latencies(fields.get("latency", {})))
    )


def parse_latencies(document: object) -> dict[Route, Latency]:
    """A latency per route: ``{"chat": {"median_s": 1, "p95_s": 2.5}, "moderations": 0.2}``."""
    fields = _object(document, "latency", frozenset(ROUTE_NAMES))
    return {ROUTE_NAMES[name]: parse_latency(value) for name, value in fields.items()}


def parse_rules(document: object, *, prefix: str, first: int) -> tuple[FaultRule, ...]:
    """One rule or a list of them, numbered from ``first``."""
    items = document if isinstance(document, list) else [document]
    return tuple(_rule(item, f"{prefix}{number}") for number, item in enumerate(items, start=first))


def rule_json(rule: FaultRule) -> dict[str, object]:
    """A rule as its JSON, with its id."""
    document: dict[str, object] = {"rule_id": rule.rule_id, "route": rule.route, "fault": rule.fault.outcome}
    if rule.fault.value:
        document["value"] = rule.fault.value
    if rule.fault.retry_after_s is not None:
        document["retry_after_s"] = rule.fault.retry_after_s
    return document | {"contains": rule.contains, "probability": rule.probability, "times": rule.times}


def rules_json(rules: Iterable[FaultRule]) -> dict[str, object]:
    """A list of rules as JSON."""
    return {"rules": [rule_json(rule) for rule in rules]}


def latencies_json(latency: Mapping[Route, Latency]) -> dict[str, object]:
    """A latency table as JSON."""
    return {str(route): latency_json(value) for route, value in latency.items()}


def _rule(document: object, rule_id: str) -> FaultRule:
    fields = _object(document, "rule", RULE_KEYS)
    route = ROUTE_NAMES.get(str(fields.get("route")))
    if route is None:
        raise ValueError(f"route: expected one of {', '.join(ROUTE_NAMES)}, got {fields.get('route')!r}")
    wait_s = None if (wait := fields.get("retry_after_s")) is None else parse_seconds("retry_after_s", wait)
    fault = parse_fault(route, str(fields.get("fault")), str(fields.get("value", "")), wait_s)
    times = fields.get("times")
    if times is not None and (not isinstance(times, int) or isinstance(times, bool) or times < 1):
        raise ValueError(f"times: expected a whole number from 1, or null for no end, got {times!r}")
    return FaultRule(
        rule_id=rule_id,
        route=route,
        fault=fault,
        contains=str(fields.get("contains", "")),
        probability=_probability(fields.get("probability", 1.0)),
        times=times,
    )


def _probability(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"probability: expected a number from 0 to 1, got {value!r}")
    return float(value)


def _object(document: object, name: str, keys: Iterable[str]) -> Mapping[str, object]:
    if not isinstance(document, Mapping):
        raise ValueError(f"{name}: expected an object, got {document!r}")  # noqa: TRY004  # one error type for bad configuration
    allowed = sorted(keys)
    unknown = sorted(set(document) - set(allowed))
    if unknown:
        raise ValueError(f"{name}: expected keys {', '.join(allowed)}, got {', '.join(unknown)}")
    return document
