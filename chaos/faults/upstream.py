"""Storms of failures of models and moderation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final

from chaos.faults.injection import Fault, Injection
from chaos.kinds import FaultKind

ROUTES: Final = ("moderations", "chat")
SHARE: Final = 0.8
PATIENCE_S: Final = 10.0
"""A storm lasts until one call was hit."""
MOST: Final = 1_000_000
"""Failures of one rule: more than a storm has calls."""
WAIT: Final[dict[str, Any]] = {"retry_after_s": 0.5}


def storm(outcome: str, more: dict[str, Any], injection: Injection) -> tuple[bool, list[str]]:
    """Most calls of both routes fail in one way for a while."""
    sandbox, entries = injection.world.sandbox, injection.recoveries.pending()
    rules = [sandbox.add_rule(route, outcome, probability=SHARE, times=MOST, **more) for route in ROUTES]
    try:
        injection.world.pause(injection.duration_s())
        happened = injection.world.until(lambda: hits(sandbox.rules(), rules), PATIENCE_S)
    finally:
        for rule in rules:
            sandbox.drop_rules(rule)
    return bool(happened), entries


def hits(rules: Iterable[Mapping[str, Any]], ids: Collection[str]) -> int:
    """Calls that these rules made fail; each rule began with ``MOST``."""
    return sum(MOST - int(rule["times"]) for rule in rules if rule["rule_id"] in ids)


FAULTS: Final[dict[FaultKind, Fault]] = {
    FaultKind.UPSTREAM_429: partial(storm, "429", WAIT),
    FaultKind.UPSTREAM_500: partial(storm, "500", {}),
    FaultKind.UPSTREAM_HANG: partial(storm, "hang", {}),
    FaultKind.UPSTREAM_HALF: partial(storm, "reset", {}),
}
