"""Routes of signing in, a person's own pages, and the people of an organisation."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.access_log import page as access_log_page
from review.auth import (
    api_tokens,
    invitation_page,
    oidc_pages,
    password_page,
    second_factor_page,
    sign_in_code,
    sign_in_links,
    sign_in_page,
)
from review.first_run import checklist as first_steps
from review.home import page as home_page
from review.http.page_routes import PageRoute, get, post
from review.people import people_page, person_page, quality_page
from review.profile import language_page, profile_page

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

OWN: Final = (
    post("/language", "language", language_page.choose, None),
    get("/", "home", home_page.show_home, Right.VIEW),
    post("/first-steps/hide", "first_steps_hide", first_steps.hide_checklist, Right.ADMIN),
    get("/profile", "profile", profile_page.show_profile, Right.SIGNED_IN),
    get("/profile/quality", "own_quality", quality_page.show_own_quality, Right.REVIEW),
    get("/reviewers", "reviewers", quality_page.show_reviewer, Right.LEAD),
    post("/profile", "profile_post", profile_page.save_profile, Right.SIGNED_IN),
    get("/profile/password", "password", password_page.show_password_form, Right.SIGNED_IN),
    post("/profile/password", "password_post", password_page.change_password, Right.SIGNED_IN),
    get("/profile/second-factor", "second_factor", second_factor_page.show_second_factor, Right.SIGNED_IN),
    post(
        "/profile/second-factor",
        "second_factor_post",
        second_factor_page.change_second_factor,
        Right.SIGNED_IN,
    ),
    post("/profile/sessions/mine", "sessions_mine", profile_page.recognise_sign_ins, Right.SIGNED_IN),
    post("/profile/sessions", "session_end", profile_page.end_session, Right.SIGNED_IN),
    get("/profile/tokens", "tokens", api_tokens.show_tokens, Right.SIGNED_IN),
    post("/profile/tokens", "tokens_post", api_tokens.add_token, Right.SIGNED_IN),
    post("/profile/tokens/revoke", "token_revoke", api_tokens.revoke_token, Right.SIGNED_IN),
)

SHELL: Final = (
    post("/appearance", "appearance", language_page.change_appearance, Right.SIGNED_IN),
    get("/counts", "counts", home_page.show_counts, Right.REVIEW),
)

PEOPLE: Final = (
    get("/people", "people", people_page.list_people, Right.ADMIN),
    post("/people", "people_post", people_page.add_person, Right.ADMIN),
    post(
        "/people/invitations/{invitation_id}/withdraw",
        "invitation_withdraw",
        people_page.withdraw,
        Right.ADMIN,
    ),
    get("/people/{person_id}", "person", person_page.show_person, Right.ADMIN),
    post("/people/{person_id}/grant", "person_grant", person_page.grant_role, Right.ADMIN),
    post("/people/{person_id}/revoke", "person_revoke", person_page.revoke_role, Right.ADMIN),
    post("/people/{person_id}/manage", "person_manage", person_page.manage_person, Right.ADMIN),
    get("/access-log", "access_log", access_log_page.list_lines, Right.AUDIT),
)
