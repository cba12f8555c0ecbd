"""The deployment's ports for replays that ask what a recording lacks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date

from db.pool import Pool
from tasks.limits.guards import Guards
from tasks.upstreams import build_ports, open_endpoints
from worker.adapters.system_clock import SystemClock
from worker.model import NANO, Decision
from worker.ports import Ports
from worker.settings import Settings
from worker.settings.prices import price_table


@asynccontextmanager
async def live_ports(settings: Settings, pool: Pool) -> AsyncIterator[Ports]:
    """The ports of a worker of this deployment, without its fleet's limits of calls."""
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
