"""What is used and left of an account's limits and budgets, as JSON."""

from __future__ import annotations

from starlette.responses import Response

from review.accounts.limits_page import load_limits
from review.api.body import answer
from review.http.visit import Visit


async def list_limits(visit: Visit) -> Response:
    """The present figures."""
    found = await load_limits(visit)
    return answer({"account": found.account, "known": found.known, "limits": found.limits})
