"""The addresses of signing in, and what machines ask."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.pages import home, oidc, sign_in, sign_in_link
from review.web import Page

SIGNING_IN: Final = (
    Page(path="/healthz", name="health", handler=home.health, right=None),
    Page(
        path="/csp-report",
        name="csp_report",
        handler=home.csp_report,
        right=None,
        methods=("POST",),
        csrf=False,
    ),
    Page(path="/sign-in", name="sign_in", handler=sign_in.form, right=None),
    Page(path="/sign-in", name="sign_in_post", handler=sign_in.submit, right=None, methods=("POST",)),
    Page(path="/sign-in/link", name="sign_in_link", handler=sign_in_link.ask, right=None),
    Page(
        path="/sign-in/link",
        name="sign_in_link_post",
        handler=sign_in_link.use,
        right=None,
        methods=("POST",),
    ),
    Page(
        path="/sign-out", name="sign_out", handler=sign_in.sign_out, right=Right.SIGNED_IN, methods=("POST",)
    ),
    Page(path="/sign-in/oidc", name="oidc_start", handler=oidc.begin, right=None, methods=("POST",)),
    Page(path=oidc.BACK, name="oidc_back", handler=oidc.back, right=None),
)
