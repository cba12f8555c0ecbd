"""The route table: every address, what it needs, who answers. Tests walk it with every role."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.pages import decision, home, sign_in
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
    # one decision
    Page(path="/decisions/{decision_id}", name="decision", handler=decision.page, right=Right.VIEW),
    Page(
        path="/decisions/{decision_id}/reveal",
        name="decision_reveal",
        handler=decision.reveal,
        right=Right.VIEW,
        methods=("POST",),
    ),
)
