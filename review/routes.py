"""The route table: every address, what it needs, who answers. Tests walk it with every role."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.pages import agreement, dashboard, home, sign_in
from review.web import Page

PAGES: Final = (
    Page(path="/healthz", name="health", handler=home.health, right=None),
    Page(path="/csp-report", name="csp_report", handler=home.csp_report, right=None, methods=("POST",)),
    # signing in
    Page(path="/sign-in", name="sign_in", handler=sign_in.form, right=None),
    Page(path="/sign-in", name="sign_in_post", handler=sign_in.submit, right=None, methods=("POST",)),
    Page(path="/sign-out", name="sign_out", handler=sign_in.sign_out, right=Right.VIEW, methods=("POST",)),
    # the pages
    Page(path="/", name="home", handler=home.home, right=Right.VIEW),
    Page(path="/dashboard", name="dashboard", handler=dashboard.page, right=Right.VIEW),
    Page(path="/agreement", name="agreement", handler=agreement.page, right=Right.LEAD),
    # the JSON face
    Page(
        path="/api/v1/agreement",
        name="api_agreement",
        handler=agreement.agreement_json,
        right=Right.LEAD,
        api=True,
    ),
    Page(
        path="/api/v1/figures",
        name="api_figures",
        handler=dashboard.figures_json,
        right=Right.VIEW,
        api=True,
    ),
)
