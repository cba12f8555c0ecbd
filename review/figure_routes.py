"""The routes of figures: dashboard and agreement, as pages and as JSON."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.api import figures as api
from review.pages import agreement, dashboard
from review.web import Page

FIGURES: Final = (
    Page(path="/dashboard", name="dashboard", handler=dashboard.page, right=Right.VIEW),
    Page(path="/agreement", name="agreement", handler=agreement.page, right=Right.LEAD),
    Page(path="/api/v1/figures", name="api_figures", handler=api.figures, right=Right.VIEW, api=True),
    Page(path="/api/v1/agreement", name="api_agreement", handler=api.agreement, right=Right.LEAD, api=True),
)
