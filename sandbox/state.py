"""What one running sandbox holds: its scenario, the rules in force now, and its ledger."""

from __future__ import annotations

import random
from dataclasses import replace

from sandbox.faults import Facts, Plan, Rules, plan, spent
from sandbox.latency import Latency
from sandbox.ledger import Ledger, Record
from sandbox.routes import Route
from sandbox.scenario import Scenario, parse_rules

KEEP_REQUESTS = 1000
"""Request bodies kept unless the command line says otherwise."""


class Sandbox:
    """The mutable heart of a server process; one event loop uses it, so it needs no lock."""

    def __init__(self, scenario: Scenario, *, keep_requests: int = KEEP_REQUESTS) -> None:
        self._scenario = scenario
        self._rules_made = 0
        self.rules = scenario.rules
        self.ledger = Ledger(keep_requests)

    def plan_call(self, record: Record, about: str, seen: int) -> Plan:
        """What happens to a call; the same seed, text and count of earlier calls give the same plan."""
        if not self.rules.faults and not self.rules.latency and "[[" not in about:
            return NOTHING
        rng = random.Random(f"{self._scenario.seed}/{record.route}/{record.key}/{seen}")  # noqa: S311  # not for secrets
        planned = plan(Facts(route=record.route, text=about, seen=seen), self.rules, rng)
        if planned.rule_id is not None:
            self.rules = spent(self.rules, planned.rule_id)
        return planned

    def add_rules(self, document: object) -> Rules:
        """Put rules in force, ahead of all earlier ones; returns just these. ValueError: a bad rule."""
        added = parse_rules(document, prefix="r", first=self._rules_made + 1)
        self._rules_made += len(added)
        self.rules = replace(self.rules, faults=(*added, *self.rules.faults))
        return Rules(faults=added)

    def drop_rules(self, name: str | Route | None) -> None:
        """Take back one rule by its id, all rules of a route, or all rules (None)."""
        kept = tuple(r for r in self.rules.faults if name is not None and name not in (r.rule_id, r.route))
        self.rules = replace(self.rules, faults=kept)

    def set_latency(self, latency: dict[Route, Latency]) -> None:
        """Replace the latency of the routes named here."""
        self.rules = replace(self.rules, latency={**self.rules.latency, **latency})

    def drop_latency(self) -> None:
        """No route waits any more."""
        self.rules = replace(self.rules, latency={})

    def reset(self) -> None:
        """Back to the scenario as it started: counts, ring and run-time rules are gone."""
        self.rules = self._scenario.rules
        self.ledger.forget()


NOTHING = Plan()
