"""What calls of models cost: prices, the cost of a decision, and an account's budgets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Final

from worker.model.generation import Tokens

NANO: Final = 1_000_000_000
"""Money is counted in whole billionths of a US dollar, so that sums are exact."""
DATED: Final = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")
"""A version's date at the end of a model's name, as in ``gpt-4.1-mini-2025-04-14``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """The price of a model from a day on.

    Attributes:
        model: as the server names it; a date at the end of the server's name may be missing.
        since: first day, UTC.
        prompt: US dollars for a million tokens of the prompt.
        completion: price of the answer, like ``prompt``.
    """

    model: str
    since: date
    prompt: Decimal
    completion: Decimal

    def nano_usd(self, tokens: Tokens) -> int:
        """What these tokens cost."""
        exact = (tokens.prompt * self.prompt + tokens.completion * self.completion) * (NANO // 1_000_000)
        return int(exact.to_integral_value(ROUND_HALF_UP))


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that one model used for one purpose."""

    purpose: str
    model: str
    tokens: Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """The cost of one model for one purpose; ``nano_usd`` is None when its price is not known."""

    purpose: str
    model: str
    tokens: Tokens
    nano_usd: int | None


class PriceTable:
    """Prices by model and day."""

    def __init__(self, prices: Iterable[ModelPrice] = ()) -> None:
        self._prices: dict[str, list[ModelPrice]] = {}
        for each in sorted(prices, key=lambda price: price.since, reverse=True):
            self._prices.setdefault(each.model, []).append(each)

    def price(self, model: str, day: date) -> ModelPrice | None:
        """The price in force on a day; None for an unknown price."""
        declared = self._prices.get(model) or self._prices.get(DATED.sub("", model), [])
        return next((each for each in declared if each.since <= day), None)

    def lines(self, used: Iterable[Usage], day: date) -> tuple[CostLine, ...]:
        """The cost of each use; uses without tokens are left out."""
        return tuple(
            CostLine(
                purpose=each.purpose,
                model=each.model,
                tokens=each.tokens,
                nano_usd=price.nano_usd(each.tokens) if (price := self.price(each.model, day)) else None,
            )
            for each in used
            if each.tokens.prompt or each.tokens.completion
        )


class BudgetAction(StrEnum):
    """What happens to events of an account whose budget is spent."""

    ALERT = "alert"
    SUGGEST = "suggest"
    SILENCE = "silence"


class BudgetPeriod(StrEnum):
    """The periods of budgets, UTC; also the grains of the stored costs."""

    DAY = "day"
    MONTH = "month"

    def start(self, day: date) -> date:
        """The first day of the period that contains a day."""
        return day if self is BudgetPeriod.DAY else day.replace(day=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReached:
    """A budget that is spent.

    Attributes:
        start: first day of its period.
        budget_usd: as the account set it.
        spent_usd: when it was read, before this event.
    """

    period: BudgetPeriod
    start: date
    budget_usd: float
    spent_usd: float
    action: BudgetAction

    @property
    def sentence(self) -> str:
        """What is spent, for the audit."""
        return (
            f"the account has spent {self.spent_usd:.4f} USD since {self.start.isoformat()}, its budget for"
            f" the {self.period} is {self.budget_usd:g}"
        )
