"""What decisions cost, and whether an account's budget is spent when an event's turn comes."""

from __future__ import annotations

from datetime import date
from typing import Final

import structlog

from db.costs import budgets
from db.pool import Pool
from worker.errors import StorageUnavailable
from worker.model import Account, BudgetReached, CostLine, Decision, PriceTable
from worker.ports import Clock
from worker.recent import Recent

log = structlog.get_logger(__name__)

MOST_NOTED: Final = 10_000


class Spending:
    """Prices decisions and watches budgets; an account without budgets costs no query."""

    def __init__(self, pool: Pool, clock: Clock, prices: PriceTable) -> None:
        self._pool = pool
        self._clock = clock
        self._prices = prices
        self._noted: Recent[tuple[str, str, date, float], None] = Recent(MOST_NOTED)

    def costs(self, decision: Decision) -> tuple[CostLine, ...]:
        """What the models of a decision cost."""
        return self._prices.lines(decision.usage, decision.decided_at.date())

    async def budget(self, account: Account) -> BudgetReached | None:
        """The account's first budget that is spent, or None; over the whole fleet.

        Raises:
            StorageUnavailable: it could not be read.
        """
        if account.budget_day_usd is None and account.budget_month_usd is None:
            return None
        day = self._clock.now().date()
        found = budgets.reached(account, await budgets.load_spent(self._pool, account.user_id, day), day)
        for each in found:
            await self._note(account.user_id, each)
        return found[0] if found else None

    async def decided(self, account: Account, decision: Decision) -> None:
        """Notice at once that a stored decision has spent a budget; the next event notices it otherwise."""
        if not decision.costs:
            return
        try:
            await self.budget(account)
        except StorageUnavailable as error:
            log.warning("budget_not_read", user_id=account.user_id, error=error.kind)

    async def _note(self, user_id: str, found: BudgetReached) -> None:
        key = (user_id, found.period.value, found.start, found.budget_usd)
        if key in self._noted:
            return
        if await budgets.note_crossing(self._pool, user_id, found):
            log.warning(
                "budget_reached",
                user_id=user_id,
                period=found.period,
                budget_usd=found.budget_usd,
                spent_usd=round(found.spent_usd, 6),
                action=found.action,
            )
        self._noted.keep(key, None)
