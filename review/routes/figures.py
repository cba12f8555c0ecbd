"""The addresses of figures: dashboard and agreement."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.pages import agreement, dashboard
from review.web import Page

FIGURES: Final = (
    Page(path="/dashboard", name="dashboard", handler=dashboard.page, right=Right.VIEW),
    Page(path="/agreement", name="agreement", handler=agreement.page, right=Right.LEAD),
)
