"""What is used and left of an account's limits and budgets, as values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from db.pool import Pool
from worker.model import Account


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFigure:
    """One limit of an account.

    Attributes:
        limit: the name of its setting.
        used: in the last minute, now, today or this month.
        lasts_s: until nothing is left at the rate of the last minute; None for other limits.
        unpriced_tokens: of models without a price, which ``used`` of a budget does not count.
    """

    limit: str
    most: float
    used: float
    left: float
    lasts_s: float | None = None
    unpriced_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFigures:
    """The limits and budgets that an account has set."""

    account: Account
    limits: tuple[LimitFigure, ...]


class FiguresUnknown(Exception):
    """Redis, which counts for the whole fleet, did not answer."""


LoadAccountFigures: TypeAlias = Callable[[Pool, str], Awaitable[AccountFigures]]
"""Reads the figures of an account; raises ``FiguresUnknown`` and ``StorageUnavailable``."""
