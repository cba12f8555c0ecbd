"""Routes of the dashboard and the agreement page."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.dashboard import agreement_page, dashboard_page
from review.http.visit import PageRoute

FIGURES: Final = (
    PageRoute(path="/dashboard", name="dashboard", handler=dashboard_page.show_dashboard, right=Right.VIEW),
    PageRoute(path="/agreement", name="agreement", handler=agreement_page.show_agreement, right=Right.LEAD),
)
