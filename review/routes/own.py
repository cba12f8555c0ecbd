"""The addresses of one's own things."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.pages import home, password, profile, tokens
from review.web import Page

OWN: Final = (
    Page(path="/", name="home", handler=home.home, right=Right.VIEW),
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
)
