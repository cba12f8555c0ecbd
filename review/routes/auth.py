"""Routes of signing in, invitations, health and CSP reports."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.auth import invitation_page, oidc_pages, sign_in_link_page, sign_in_page
from review.dashboard import home_page
from review.http.visit import PageRoute

SIGNING_IN: Final = (
    PageRoute(path="/healthz", name="health", handler=home_page.show_health, right=None),
    PageRoute(
        path="/csp-report",
        name="csp_report",
        handler=home_page.csp_report,
        right=None,
        methods=("POST",),
        csrf=False,
    ),
    PageRoute(path="/sign-in", name="sign_in", handler=sign_in_page.show_sign_in, right=None),
    PageRoute(
        path="/sign-in",
        name="sign_in_post",
        handler=sign_in_page.submit_sign_in,
        right=None,
        methods=("POST",),
    ),
    PageRoute(
        path="/sign-in/link", name="sign_in_link", handler=sign_in_link_page.confirm_sign_in, right=None
    ),
    PageRoute(
        path="/sign-in/link",
        name="sign_in_link_post",
        handler=sign_in_link_page.use_sign_in_link,
        right=None,
        methods=("POST",),
    ),
    PageRoute(
        path="/sign-out",
        name="sign_out",
        handler=sign_in_page.sign_out,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    PageRoute(
        path="/sign-in/oidc", name="oidc_start", handler=oidc_pages.start_oidc, right=None, methods=("POST",)
    ),
    PageRoute(path=oidc_pages.BACK, name="oidc_back", handler=oidc_pages.finish_oidc, right=None),
    PageRoute(
        path="/invitation/{token}", name="invitation", handler=invitation_page.show_invitation, right=None
    ),
    PageRoute(
        path="/invitation/{token}/accept",
        name="invitation_accept",
        handler=invitation_page.accept_invitation,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    PageRoute(
        path="/invitation/{token}/join",
        name="invitation_join",
        handler=invitation_page.join,
        right=None,
        methods=("POST",),
    ),
)
