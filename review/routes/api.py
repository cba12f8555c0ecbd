"""The addresses of the JSON face."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.api import decisions
from review.web import Page

API: Final = (
    Page(
        path="/api/v1/decisions", name="api_decisions", handler=decisions.listed, right=Right.VIEW, api=True
    ),
    Page(
        path="/api/v1/decisions/{decision_id}",
        name="api_decision",
        handler=decisions.one,
        right=Right.VIEW,
        api=True,
    ),
)
