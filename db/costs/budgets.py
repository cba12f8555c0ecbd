"""Which budgets of an account are spent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from math import inf
from typing import Final

from db.pool import Pool, fetch_rows, fetch_value
from worker.model import NANO, Account, BudgetPeriod, BudgetReached

SPENT: Final = """
    SELECT grain, sum(nano_usd)::bigint, sum(unpriced_tokens)::bigint,
        coalesce(sum(decisions) FILTER (WHERE purpose = 'completion'), 0)::bigint
    FROM account_costs
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
    """What an account has spent, US dollars; the tokens without a price are not in it.

    Attributes:
        month_drafted: decisions of the month that asked a language model for a reply.
    """

    day_usd: float
    month_usd: float
    day_unpriced: int
    month_unpriced: int
    month_drafted: int


async def load_spent(source: Pool, user_id: str, day: date) -> Spent:
    """What an account has spent until now, over the whole fleet.

    Raises:
        StorageUnavailable: it could not be read.
    """
    values = {"user_id": user_id, "day": day, "month": BudgetPeriod.MONTH.start(day)}
    found = {grain: row for grain, *row in await fetch_rows(source, SPENT, values)}
    day_nano, day_unpriced, _ = found.get(BudgetPeriod.DAY, (0, 0, 0))
    month_nano, month_unpriced, drafted = found.get(BudgetPeriod.MONTH, (0, 0, 0))
    return Spent(
        day_usd=day_nano / NANO,
        month_usd=month_nano / NANO,
        day_unpriced=day_unpriced,
        month_unpriced=month_unpriced,
        month_drafted=drafted,
    )


def reached(account: Account, spent: Spent, day: date) -> tuple[BudgetReached, ...]:
    """The budgets of an account that are spent."""
    return tuple(
        BudgetReached(
            period=period,
            start=period.start(day),
            budget_usd=budget,
            spent_usd=used,
            action=account.budget_action,
        )
        for period, budget, used in _used(account, spent)
        if used >= budget
    )


def affordable(account: Account, spent: Spent) -> float:
    """Further drafted decisions that the budgets pay for, at the month's mean cost; infinite at no cost.

    Raises:
        ValueError: the account has no budget.
    """
    left_usd = min(budget - used for _, budget, used in _used(account, spent))
    return left_usd * spent.month_drafted / spent.month_usd if spent.month_usd else inf


def _used(account: Account, spent: Spent) -> list[tuple[BudgetPeriod, float, float]]:
    limits = (
        (BudgetPeriod.DAY, account.budget_day_usd, spent.day_usd),
        (BudgetPeriod.MONTH, account.budget_month_usd, spent.month_usd),
    )
    return [(period, budget, used) for period, budget, used in limits if budget is not None]


async def note_crossing(source: Pool, user_id: str, found: BudgetReached) -> bool:
    """Store that a budget is spent; True for the first worker that does.

    Raises:
        StorageUnavailable: it was not stored.
    """
    values = (user_id, found.period.value, found.start, found.budget_usd, found.action.value)
    return bool(await fetch_value(source, NOTE, values))
