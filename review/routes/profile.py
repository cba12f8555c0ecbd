"""Routes of the start page and a person's own profile."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.auth import password_page, profile_page, tokens_page
from review.dashboard import home_page
from review.http.visit import PageRoute

OWN: Final = (
    PageRoute(path="/", name="home", handler=home_page.show_home, right=Right.VIEW),
    PageRoute(path="/profile", name="profile", handler=profile_page.show_profile, right=Right.SIGNED_IN),
    PageRoute(
        path="/profile",
        name="profile_post",
        handler=profile_page.save_profile,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    PageRoute(
        path="/profile/password",
        name="password",
        handler=password_page.show_password_form,
        right=Right.SIGNED_IN,
    ),
    PageRoute(
        path="/profile/password",
        name="password_post",
        handler=password_page.change_password,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    PageRoute(
        path="/profile/sessions",
        name="session_end",
        handler=profile_page.end_session,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    PageRoute(path="/profile/tokens", name="tokens", handler=tokens_page.show_tokens, right=Right.SIGNED_IN),
    PageRoute(
        path="/profile/tokens",
        name="tokens_post",
        handler=tokens_page.add_token,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    PageRoute(
        path="/profile/tokens/revoke",
        name="token_revoke",
        handler=tokens_page.revoke_token,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
)
