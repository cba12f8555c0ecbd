"""Asking the deployment's models: their ports, what calls cost, and what may be spent."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date

from db.model_servers.stored import with_stored_servers
from db.pool import Pool
from tasks.limits.guards import Guards
from tasks.upstreams import build_ports, open_endpoints
from worker.adapters.system_clock import SystemClock
from worker.model import NANO, Decision
from worker.ports import Ports
from worker.settings import Settings, require_models
from worker.settings.prices import price_table


@asynccontextmanager
async def live_ports(settings: Settings, pool: Pool) -> AsyncIterator[Ports]:
    """The ports of a worker of this deployment, without its fleet's limits of calls.

    Raises:
        ConfigurationError: a role has no server.
    """
    settings = await with_stored_servers(settings, pool)
    require_models(settings)
    endpoints = open_endpoints(settings)
    endpoints.prepare()
    try:
        yield build_ports(settings, endpoints, pool, SystemClock(), Guards(settings))
    finally:
        await endpoints.close()


def cost_of(settings: Settings, decision: Decision, day: date | None = None) -> tuple[float, frozenset[str]]:
    """What the calls of a decision cost at the declared prices, US dollars, and models without a price.

    ``day`` of the prices; None: that of the decision.
    """
    lines = price_table(settings).lines(decision.usage, day or decision.decided_at.date())
    unpriced = frozenset(each.model for each in lines if each.nano_usd is None)
    return sum(each.nano_usd or 0 for each in lines) / NANO, unpriced


@dataclass(slots=True, kw_only=True)
class Budget:
    """What may be spent.

    Attributes:
        most: US dollars; None: no limit.
        unpriced: models that were asked and have no declared price.
    """

    most: float | None
    spent: float = 0.0
    unpriced: set[str] = field(default_factory=set)

    def add(self, usd: float, unpriced: Iterable[str]) -> None:
        """Count what calls cost."""
        self.spent = math.fsum((self.spent, usd))
        self.unpriced.update(unpriced)

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be asked: the limit is reached, or what is spent cannot be known."""
        return self.most is not None and (self.spent >= self.most or bool(self.unpriced))

    @property
    def is_exceeded(self) -> bool:
        """Whether calls that ran together cost more than the limit, or an unknown amount."""
        return self.is_spent and (bool(self.unpriced) or self.spent > (self.most or 0.0))

    @property
    def why(self) -> str:
        """Why nothing more may be asked."""
        names = ", ".join(sorted(self.unpriced))
        return (
            f"no declared price of {names} in HUSHGATE_PRICES" if names else f"{self.spent:.4f} USD are spent"
        )
