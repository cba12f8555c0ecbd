"""What accounts spent, summed as asked, and how much of their budgets is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from db.connection import Connection
from db.pool import Pool, fetch_dicts
from db.rows import all_rows
from worker.model import NANO, BudgetPeriod


class CostKey(StrEnum):
    """What costs can be summed by."""

    DAY = "day"
    ACCOUNT = "account"
    MODEL = "model"
    PURPOSE = "purpose"


COLUMNS: Final = {
    CostKey.DAY: "start",
    CostKey.ACCOUNT: "user_id",
    CostKey.MODEL: "model",
    CostKey.PURPOSE: "purpose",
}
SUMS: Final = """
    SELECT {columns} sum(prompt_tokens)::bigint AS prompt_tokens,
        sum(completion_tokens)::bigint AS completion_tokens, sum(nano_usd)::bigint AS nano_usd,
        sum(unpriced_tokens)::bigint AS unpriced_tokens
    FROM account_costs
    WHERE grain = 'day' AND start >= %(since)s AND start <= %(until)s
        AND (%(accounts)s::text[] IS NULL OR user_id = ANY(%(accounts)s))
    {groups}
"""
SPENDERS: Final = """
    SELECT c.user_id, r.budget_day_usd, r.budget_month_usd, r.budget_action,
        (coalesce(sum(c.nano_usd) FILTER (WHERE c.grain = 'day'), 0))::bigint AS day_nano_usd,
        (coalesce(sum(c.nano_usd) FILTER (WHERE c.grain = 'month'), 0))::bigint AS month_nano_usd,
        (coalesce(sum(c.unpriced_tokens) FILTER (WHERE c.grain = 'month'), 0))::bigint AS unpriced_tokens
    FROM account_costs c LEFT JOIN LATERAL (
        SELECT budget_day_usd, budget_month_usd, budget_action FROM ai_rules
        WHERE user_id = c.user_id ORDER BY version DESC LIMIT 1) AS r ON true
    WHERE (c.grain = 'day' AND c.start = %(day)s OR c.grain = 'month' AND c.start = %(month)s)
        AND (%(accounts)s::text[] IS NULL OR c.user_id = ANY(%(accounts)s))
    GROUP BY c.user_id, r.budget_day_usd, r.budget_month_usd, r.budget_action
    ORDER BY month_nano_usd DESC, unpriced_tokens DESC, c.user_id LIMIT %(limit)s
"""
REACHED: Final = sa.text("""
    SELECT r.user_id, p.grain FROM (
        SELECT DISTINCT ON (user_id) user_id, budget_day_usd, budget_month_usd FROM ai_rules
        ORDER BY user_id, version DESC) AS r
    CROSS JOIN LATERAL (VALUES ('day', r.budget_day_usd, CAST(:day AS date)),
        ('month', r.budget_month_usd, CAST(:month AS date))) AS p (grain, budget, start)
    CROSS JOIN LATERAL (
        SELECT sum(nano_usd) / 1e9 AS spent FROM account_costs c
        WHERE c.user_id = r.user_id AND c.grain = p.grain AND c.start = p.start) AS s
    WHERE s.spent >= p.budget ORDER BY r.user_id, p.grain
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class CostFilter:
    """Whose costs, and of which days, both included.

    Attributes:
        accounts: None for all.
    """

    accounts: tuple[str, ...] | None
    since: date
    until: date


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSum:
    """A sum; a key that was not asked for is None.

    Attributes:
        usd: None when no token has a known price.
        unpriced_tokens: tokens whose cost is not in ``usd``.
    """

    day: date | None = None
    account: str | None = None
    model: str | None = None
    purpose: str | None = None
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    unpriced_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spender:
    """An account with what it spent today and this month, UTC.

    Attributes:
        budget_action: None for an account without settings.
    """

    user_id: str
    day_usd: float
    month_usd: float
    unpriced_tokens: int
    budget_day_usd: float | None
    budget_month_usd: float | None
    budget_action: str | None

    @property
    def known_day_usd(self) -> float | None:
        """What today cost; None when no price of the used models is known."""
        return None if self.unpriced_tokens and not self.day_usd else self.day_usd

    @property
    def known_month_usd(self) -> float | None:
        """What this month cost; None when no price of the used models is known."""
        return None if self.unpriced_tokens and not self.month_usd else self.month_usd

    @property
    def shares(self) -> dict[BudgetPeriod, float]:
        """The part of each budget that is spent; 1 or more: all of it."""
        budgets = {
            BudgetPeriod.DAY: (self.day_usd, self.budget_day_usd),
            BudgetPeriod.MONTH: (self.month_usd, self.budget_month_usd),
        }
        return {period: spent / budget for period, (spent, budget) in budgets.items() if budget}


async def load_costs(source: Pool, chosen: CostFilter, by: Sequence[CostKey]) -> tuple[CostSum, ...]:
    """The sums, in the order of their keys.

    Raises:
        StorageUnavailable: they could not be read.
    """
    names = ", ".join(COLUMNS[each] for each in by)
    groups = f"GROUP BY {names} ORDER BY {names}" if by else "HAVING count(*) > 0"
    shown = "".join(f"{COLUMNS[each]} AS {each}, " for each in by)
    values = {
        "since": chosen.since,
        "until": chosen.until,
        "accounts": None if chosen.accounts is None else list(chosen.accounts),
    }
    rows = await fetch_dicts(source, SUMS.format(columns=shown, groups=groups), values)
    return tuple(_sum(row) for row in rows)


async def load_spenders(
    source: Pool, accounts: Sequence[str] | None, day: date, *, limit: int
) -> tuple[Spender, ...]:
    """The accounts that spent most this month."""
    values = {
        "day": day,
        "month": BudgetPeriod.MONTH.start(day),
        "accounts": None if accounts is None else list(accounts),
        "limit": limit,
    }
    return tuple(_spender(row) for row in await fetch_dicts(source, SPENDERS, values))


async def load_reached(connection: Connection, day: date) -> tuple[tuple[str, str], ...]:
    """Account and period of each budget that is spent."""
    values = {"day": day, "month": BudgetPeriod.MONTH.start(day)}
    return tuple((row["user_id"], row["grain"]) for row in await all_rows(connection, REACHED, values))


def _sum(row: dict[str, Any]) -> CostSum:
    nano, unpriced = row.pop("nano_usd"), row["unpriced_tokens"]
    is_unknown = bool(unpriced) and unpriced == row["prompt_tokens"] + row["completion_tokens"]
    return CostSum(usd=None if is_unknown else nano / NANO, **row)


def _spender(row: dict[str, Any]) -> Spender:
    day, month = row.pop("day_nano_usd"), row.pop("month_nano_usd")
    return Spender(day_usd=day / NANO, month_usd=month / NANO, **row)
