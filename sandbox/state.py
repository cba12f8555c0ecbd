"""The state of one running sandbox: its scenario, the rules in force, and its ledger."""

from __future__ import annotations

import random
from dataclasses import replace

from sandbox.faults import CallFacts, CallPlan, FaultRules, call_plan, rules_after_hit
from sandbox.latency import Latency
from sandbox.ledger import CallRecord, Ledger
from sandbox.routes import Route
from sandbox.scenario import Scenario, parse_rules

KEEP_REQUESTS = 1000
"""Stored request bodies by default."""


class Sandbox:
    """The mutable state of a server process; one event loop uses it, so it needs no lock."""

    def __init__(self, scenario: Scenario, *, keep_requests: int = KEEP_REQUESTS) -> None:
        self._scenario = scenario
        self._rules_made = 0
        self.rules = scenario.rules
        self.ledger = Ledger(keep_requests)

    def plan_call(self, record: CallRecord, about: str, seen: int) -> CallPlan:
        """The plan of a call; the same seed, text and number of earlier calls give the same plan."""
        if not self.rules.faults and not self.rules.latency and "[[" not in about:
            return NOTHING
        rng = random.Random(f"{self._scenario.seed}/{record.route}/{record.key}/{seen}")  # noqa: S311  # not for secrets
        planned = call_plan(CallFacts(route=record.route, text=about, seen=seen), self.rules, rng)
        if planned.rule_id is not None:
            self.rules = rules_after_hit(self.rules, planned.rule_id)
        return planned

    def add_rules(self, document: object) -> FaultRules:
        """Add rules before all earlier ones; return the added rules. ValueError: a bad rule."""
        added = parse_rules(document, prefix="r", first=self._rules_made + 1)
        self._rules_made += len(added)
        self.rules = replace(self.rules, faults=(*added, *self.rules.faults))
        return FaultRules(faults=added)

    def drop_rules(self, name: str | Route | None) -> None:
        """Remove one rule by its id, all rules of a route, or all rules (None)."""
        kept = tuple(r for r in self.rules.faults if name is not None and name not in (r.rule_id, r.route))
        self.rules = replace(self.rules, faults=kept)

    def set_latency(self, latency: dict[Route, Latency]) -> None:
        """Replace the latency of the routes named here."""
        self.rules = replace(self.rules, latency={**self.rules.latency, **latency})

    def drop_latency(self) -> None:
        """Remove the latency of all routes."""
        self.rules = replace(self.rules, latency={})

    def reset(self) -> None:
        """Restore the scenario; clear counts, ring and run-time rules."""
        self.rules = self._scenario.rules
        self.ledger.forget()


NOTHING = CallPlan()
