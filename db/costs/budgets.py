"""Which budgets of an account are spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from db.pool import Pool, fetch_rows, fetch_value
from worker.model import NANO, Account, BudgetPeriod, BudgetReached

SPENT: Final = """
    SELECT grain, sum(nano_usd)::bigint, sum(unpriced_tokens)::bigint FROM account_costs
    WHERE user_id = %(user_id)s
        AND (grain = 'day' AND start = %(day)s OR grain = 'month' AND start = %(month)s)
    GROUP BY grain
"""
NOTE: Final = """
    INSERT INTO budget_crossings (user_id, grain, start, budget_usd, action)
    VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING RETURNING true
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What an account has spent, US dollars; the tokens without a price are not in it."""

    day_usd: float
    month_usd: float
    day_unpriced: int
    month_unpriced: int


async def load_spent(source: Pool, user_id: str, day: date) -> Spent:
    """What an account has spent until now, over the whole fleet.

    Raises:
        StorageUnavailable: it could not be read.
    """
    values = {"user_id": user_id, "day": day, "month": BudgetPeriod.MONTH.start(day)}
    found = {grain: (nano / NANO, tokens) for grain, nano, tokens in await fetch_rows(source, SPENT, values)}
    day_usd, day_unpriced = found.get(BudgetPeriod.DAY, (0.0, 0))
    month_usd, month_unpriced = found.get(BudgetPeriod.MONTH, (0.0, 0))
    return Spent(
        day_usd=day_usd, month_usd=month_usd, day_unpriced=day_unpriced, month_unpriced=month_unpriced
    )


def reached(account: Account, spent: Spent, day: date) -> tuple[BudgetReached, ...]:
    """The budgets of an account that are spent."""
    limits: Sequence[tuple[BudgetPeriod, float | None, float]] = (
        (BudgetPeriod.DAY, account.budget_day_usd, spent.day_usd),
        (BudgetPeriod.MONTH, account.budget_month_usd, spent.month_usd),
    )
    return tuple(
        BudgetReached(
            period=period,
            start=period.start(day),
            budget_usd=budget,
            spent_usd=used,
            action=account.budget_action,
        )
        for period, budget, used in limits
        if budget is not None and used >= budget
    )


async def note_crossing(source: Pool, user_id: str, found: BudgetReached) -> bool:
    """Store that a budget is spent; True for the first worker that does.

    Raises:
        StorageUnavailable: it was not stored.
    """
    values = (user_id, found.period.value, found.start, found.budget_usd, found.action.value)
    return bool(await fetch_value(source, NOTE, values))
