"""The route table: every address, what it needs, who answers. Tests walk it with every role."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.pages import agreement, dashboard, home, password, profile, sign_in, sign_in_link, tokens
from review.web import Page

PAGES: Final = (
    Page(path="/healthz", name="health", handler=home.health, right=None),
    Page(
        path="/csp-report",
        name="csp_report",
        handler=home.csp_report,
        right=None,
        methods=("POST",),
        csrf=False,
    ),
    # signing in
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
    # one's own
    Page(path="/profile", name="profile", handler=profile.show, right=Right.SIGNED_IN),
    Page(
        path="/profile", name="profile_post", handler=profile.save, right=Right.SIGNED_IN, methods=("POST",)
    ),
    Page(path="/profile/password", name="password", handler=password.form, right=Right.SIGNED_IN),
    Page(
        path="/profile/password",
        name="password_post",
        handler=password.change,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    Page(
        path="/profile/sessions",
        name="session_end",
        handler=profile.end_session,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    Page(path="/profile/tokens", name="tokens", handler=tokens.show, right=Right.SIGNED_IN),
    Page(
        path="/profile/tokens",
        name="tokens_post",
        handler=tokens.add,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    Page(
        path="/profile/tokens/revoke",
        name="token_revoke",
        handler=tokens.revoke,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
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
