"""The state of one running sandbox: its scenario, the rules in force, and its ledger."""

from __future__ import annotations

import random
from dataclasses import replace

from sandbox.faults import CallFacts, CallPlan, FaultRules, call_plan, rules_after_hit, together
from sandbox.latency import Latency
from sandbox.ledger import Ledger
from sandbox.replies.known_conversations import KnownConversations
from sandbox.routes import Route, text_key
from sandbox.scenario import Scenario, parse_rules
from sandbox.vendors.form import Vendor
from sandbox.vendors.openai import OPENAI

KEEP_REQUESTS = 1000
"""Stored request bodies by default."""


class Sandbox:
    """The mutable state of a server process; one event loop uses it, so it needs no lock.

    Args:
        known: conversations whose truth model and judge know.
        embeddings_url: another server that answers embedding calls; empty: the sandbox does.
        vendor: whose forms are spoken.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        keep_requests: int = KEEP_REQUESTS,
        known: KnownConversations | None = None,
        embeddings_url: str = "",
        vendor: Vendor = OPENAI,
    ) -> None:
        self._scenario = scenario
        self._started_as = self.vendor = vendor
        self._known_at_start = known
        self.known = known
        self.embeddings_url = embeddings_url
        self._rules_made = 0
        self.rules = scenario.rules
        self.ledger = Ledger(keep_requests)

    def plan_call(self, route: Route, texts: tuple[str, ...]) -> CallPlan:
        """The planned faults for one call. Each text counts as a separate call.

        The first text with a fault other than ``flagged`` fails the call; it alone is counted then, because
        the others got no answer. The same seed, text and number of earlier calls give the same plan.
        """
        if self.known is not None and (away := self.known.plan_of(route)) is not None:
            return away
        rules, plans = self.rules, []
        for place, text in enumerate(texts):
            planned = self._plan_text(CallFacts(route=route, text=text, place=place), rules)
            if planned.fails:
                if planned.rule_id is not None:
                    self.rules = rules_after_hit(self.rules, planned.rule_id)
                self.ledger.count_text(route, text)
                return planned
            rules = rules if planned.rule_id is None else rules_after_hit(rules, planned.rule_id)
            plans.append(planned)
        self.rules = rules
        for text in texts:
            self.ledger.count_text(route, text)
        return together(plans)

    def _plan_text(self, facts: CallFacts, rules: FaultRules) -> CallPlan:
        if not rules.faults and not rules.latency and "[[" not in facts.text:
            return NOTHING
        seen = self.ledger.seen(facts.route, facts.text)
        rng = random.Random(f"{self._scenario.seed}/{facts.route}/{text_key(facts.text)}/{seen}")  # noqa: S311  # not for secrets
        return call_plan(replace(facts, seen=seen), rules, rng)

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
        """Restore the scenario and the vendor; clear counts, ring and run-time rules."""
        self.vendor = self._started_as
        self.rules = self._scenario.rules
        self.known = self._known_at_start
        self.ledger.forget()


NOTHING = CallPlan()
