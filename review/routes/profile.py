"""Routes of the start page and a person's own profile."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.auth import api_tokens, password_page, second_factor_page
from review.first_run import checklist as first_steps
from review.home import page as home_page
from review.http.page_routes import get, post
from review.people import quality_page
from review.profile import language_page, profile_page

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
