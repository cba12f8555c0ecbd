"""Routes of signing in, invitations, health and CSP reports."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.auth import invitation_page, oidc_pages, sign_in_code, sign_in_links, sign_in_page
from review.home import page as home_page
from review.http.page_routes import PageRoute, get, post

SIGNING_IN: Final = (
    get("/healthz", "health", home_page.show_health, None),
    PageRoute(
        path="/csp-report",
        name="csp_report",
        handler=home_page.csp_report,
        right=None,
        methods=("POST",),
        csrf=False,
    ),
    get("/sign-in", "sign_in", sign_in_page.show_sign_in, None),
    post("/sign-in", "sign_in_post", sign_in_page.submit_sign_in, None),
    post("/sign-in/code", "sign_in_code", sign_in_code.submit_code, None),
    get("/sign-in/link", "sign_in_link", sign_in_links.confirm_sign_in, None),
    post("/sign-in/link", "sign_in_link_post", sign_in_links.use_sign_in_link, None),
    post("/sign-out", "sign_out", sign_in_page.sign_out, Right.SIGNED_IN),
    post("/sign-in/oidc", "oidc_start", oidc_pages.start_oidc, None),
    PageRoute(
        path=oidc_pages.LOGOUT,
        name="oidc_logout",
        handler=oidc_pages.end_by_provider,
        right=None,
        methods=("POST",),
        csrf=False,  # the provider sends it; its signature is checked
    ),
    get(oidc_pages.BACK, "oidc_back", oidc_pages.finish_oidc, None),
    get("/invitation/{token}", "invitation", invitation_page.show_invitation, None),
    post(
        "/invitation/{token}/accept", "invitation_accept", invitation_page.accept_invitation, Right.SIGNED_IN
    ),
    post("/invitation/{token}/join", "invitation_join", invitation_page.join, None),
)
