"""What is used and left of an account's limits and budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from db.costs.limit_figures import FiguresUnknown, LimitFigure
from review.accounts.stored_versions import account_of_path
from review.http.visit import Visit
from review.languages import mark
from worker.account_settings import SETTINGS

OF: Final = {
    "requests_per_min": mark("in the last minute"),
    "tokens_per_min": mark("in the last minute"),
    "concurrent_events": mark("now"),
    "budget_day_usd": mark("today, UTC"),
    "budget_month_usd": mark("this month, UTC"),
}
"""What ``used`` is of, by limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLimitsBody:
    """The limits and budgets that an account has set.

    ``known`` is false where this server has no Redis or it did not answer; ``limits`` is then empty.
    """

    account: str
    known: bool
    limits: tuple[LimitFigure, ...]


async def show_limits(visit: Visit) -> Response:
    """The present figures."""
    found = await load_limits(visit)
    titles = {name: SETTINGS[name].title for name in OF}
    return visit.render(
        "account_limits.html", account=found.account, found=found, titles=titles, of=OF, tab="limits"
    )


async def load_limits(visit: Visit) -> AccountLimitsBody:
    """The figures of the account in the path."""
    user_id, load = account_of_path(visit), visit.site.limit_figures
    if load is None:
        return AccountLimitsBody(account=user_id, known=False, limits=())
    try:
        found = await load(visit.store.pool, user_id)
    except FiguresUnknown:
        return AccountLimitsBody(account=user_id, known=False, limits=())
    return AccountLimitsBody(account=user_id, known=True, limits=found.limits)
