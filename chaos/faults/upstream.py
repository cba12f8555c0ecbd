"""Storms of failures of models and moderation."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from chaos.faults.injection import Fault, Injection
from chaos.kinds import FaultKind

ROUTES: Final = ("moderations", "chat")
SHARE: Final = 0.8
PATIENCE_S: Final = 10.0
"""A storm lasts until one call was hit."""
WAIT: Final[dict[str, Any]] = {"retry_after_s": 0.5}


def storm(outcome: str, more: dict[str, Any], injection: Injection) -> tuple[bool, list[str]]:
    """Most calls of both routes fail in one way for a while."""
    sandbox, entries = injection.world.sandbox, injection.recoveries.pending()
    before = _failures(sandbox.stats(), outcome)
    rules = [sandbox.add_rule(route, outcome, probability=SHARE, **more) for route in ROUTES]
    try:
        injection.world.pause(injection.duration_s())
        happened = injection.world.until(lambda: _failures(sandbox.stats(), outcome) > before, PATIENCE_S)
    finally:
        for rule in rules:
            sandbox.drop_rules(rule)
    return bool(happened), entries


def _failures(stats: Any, outcome: str) -> int:
    """Calls that ended so, or, of those that hang, that were given up."""
    names = (outcome, "abandoned") if outcome == "hang" else (outcome,)
    found = sum(
        stats["outcomes"].get(route, {}).get(name, 0) for route in stats["outcomes"] for name in names
    )
    hanging = sum(stats["in_flight"].values()) if outcome == "hang" else 0
    return int(found + hanging)


FAULTS: Final[dict[FaultKind, Fault]] = {
    FaultKind.UPSTREAM_429: partial(storm, "429", WAIT),
    FaultKind.UPSTREAM_500: partial(storm, "500", {}),
    FaultKind.UPSTREAM_HANG: partial(storm, "hang", {}),
    FaultKind.UPSTREAM_HALF: partial(storm, "reset", {}),
}
