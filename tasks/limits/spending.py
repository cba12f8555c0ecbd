"""What decisions cost, and what an account's budget still pays for when an event's turn comes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

import structlog

from db.costs import budgets
from db.pool import Pool
from worker.errors import StorageUnavailable
from worker.model import Account, BudgetAction, BudgetReached, CostLine, Decision, PriceTable
from worker.ports import Clock
from worker.recent import Recent

log = structlog.get_logger(__name__)

MOST_NOTED: Final = 10_000
FIRST_AT_ONCE: Final = 10
"""Events at once of an account before the first draft of its month; chosen, not measured."""
UNSTORED: Final = 2
"""Half is decided at once: for each event there may be one before it whose cost is not stored yet."""
MANY_AT_ONCE: Final = 5_000
"""Events at once that no fleet of usual size has of one account: nothing is counted for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """The budgets of an account when they were read.

    Attributes:
        reached: the first one that is spent, or None.
        at_once: events that the fleet may decide at once, so that these cannot spend much more than is left;
            None: any number.
    """

    reached: BudgetReached | None = None
    at_once: int | None = None


NO_BUDGET: Final = BudgetState()


class Spending:
    """Prices decisions and watches budgets; an account without budgets costs no query."""

    def __init__(self, pool: Pool, clock: Clock, prices: PriceTable) -> None:
        self._pool = pool
        self._clock = clock
        self._prices = prices
        self._noted: Recent[tuple[str, str, date, float], None] = Recent(MOST_NOTED)
        self._silent: Recent[str, None] = Recent(MOST_NOTED)

    def costs(self, decision: Decision) -> tuple[CostLine, ...]:
        """What the models of a decision cost."""
        return self._prices.lines(decision.usage, decision.decided_at.date())

    async def state(self, account: Account) -> BudgetState:
        """What the account's budgets allow now, over the whole fleet.

        Raises:
            StorageUnavailable: it could not be read.
        """
        if account.budget_day_usd is None and account.budget_month_usd is None:
            return NO_BUDGET
        day = self._clock.now().date()
        spent = await budgets.load_spent(self._pool, account.user_id, day)
        found = budgets.reached(account, spent, day)
        for each in found:
            await self._note(account.user_id, each)
        self._silent.drop(account.user_id)
        if account.budget_action is not BudgetAction.SILENCE:
            return BudgetState(reached=found[0] if found else None)
        if found:
            self._silent.keep(account.user_id, None)
            return BudgetState(reached=found[0])
        most = budgets.affordable(account, spent) / UNSTORED if spent.month_drafted else FIRST_AT_ONCE
        return BudgetState(at_once=max(1, int(most)) if most < MANY_AT_ONCE else None)

    async def budget(self, account: Account) -> BudgetReached | None:
        """The account's first budget that is spent, or None; over the whole fleet.

        Raises:
            StorageUnavailable: it could not be read.
        """
        return (await self.state(account)).reached

    def is_silent(self, user_id: str) -> bool:
        """Whether the last look found the account silent until it has a budget again."""
        return user_id in self._silent

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
