"""Routes of the dashboard and the agreement page."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.dashboard import agreement_page, dashboard_page
from review.http.page_routes import get

FIGURES: Final = (
    get("/dashboard", "dashboard", dashboard_page.show_dashboard, Right.VIEW),
    get("/agreement", "agreement", agreement_page.show_agreement, Right.LEAD),
)
