"""The tables of people: roles, invitations, sessions, sign-ins and API tokens."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from db.columns import (
    EMPTY_LIST,
    FALSE,
    NOW,
    TRUE,
    Timestamp,
    choice,
    index,
    key,
    required,
    required_texts,
    table,
)

ROLES: Final = "viewer reviewer lead rule_editor account_admin auditor owner"

people: Final = table(
    "people",
    "who may use the review pages; never deleted, only disabled",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("login", sa.Text, unique=True, comment="lower case; an e-mail address for OIDC"),
    required("name", sa.Text, server_default="", comment="as colleagues see it"),
    sa.Column("password_hash", sa.Text, comment="argon2id; null: signs in elsewhere only"),
    required("must_change_password", sa.Boolean, server_default=FALSE),
    sa.Column(
        "password_given_by",
        sa.ForeignKey("people.id"),
        comment="who gave the last first password, or the invitation, and may know the current one; or null",
    ),
    sa.Column("oidc_issuer", sa.Text),
    sa.Column("oidc_subject", sa.Text),
    required("covered", sa.ARRAY(sa.Text), server_default=EMPTY_LIST, comment="categories to cover"),
    required(
        "own_covers", sa.Boolean, server_default=FALSE, comment="covered was chosen, though it may be empty"
    ),
    required("keys_on", sa.Boolean, server_default=TRUE, comment="keyboard shortcuts are active"),
    sa.Column("language", sa.Text, comment="of the pages, such as vi; null: the browser's"),
    sa.Column("time_zone", sa.Text, comment="IANA name for shown times; null: the browser's"),
    sa.Column(
        "list_columns",
        sa.ARRAY(sa.Text),
        comment="optional columns of the list of decisions; null: the usual ones",
    ),
    *choice("list_order", "newest oldest", "which decisions come first in lists", server_default="newest"),
    sa.Column("disabled_at", Timestamp),
    required("created_at", Timestamp, server_default=NOW),
    required("created_by", sa.Text, server_default=""),
    sa.UniqueConstraint("oidc_issuer", "oidc_subject"),
    sa.CheckConstraint("login = lower(login) AND login <> ''", name="login_lower"),
)

person_roles: Final = table(
    "person_roles",
    "what each person may do, per account",
    key("person_id", sa.ForeignKey("people.id")),
    key("user_id", sa.Text, comment="the account, or * for every account"),
    *choice("role", ROLES, primary_key=True),
    required("granted_by", sa.Text),
    required("granted_at", Timestamp, server_default=NOW),
)

invitations: Final = table(
    "invitations",
    "roles offered by link; deleted once expired",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("token_hash", sa.LargeBinary, unique=True, comment="SHA-256 of the link's token"),
    required("login", sa.Text, comment="lower case; a person may have it or not"),
    required("user_id", sa.Text, comment="the account; never every account"),
    *choice("role", ROLES),
    required("invited_by", sa.ForeignKey("people.id")),
    required("created_at", Timestamp),
    required("expires_at", Timestamp),
    sa.Column("accepted_at", Timestamp),
    sa.Column("withdrawn_at", Timestamp),
    index("ix_invitations_user_id", "user_id"),
    index("ix_invitations_invited_by", "invited_by", "created_at"),
    sa.CheckConstraint("login = lower(login) AND login <> ''", name="login_lower"),
    sa.CheckConstraint("user_id <> '*'", name="one_account"),
)

sessions: Final = table(
    "sessions",
    "who is signed in",
    key("token_hash", sa.LargeBinary, comment="SHA-256 of the cookie"),
    required("person_id", sa.ForeignKey("people.id")),
    required("created_at", Timestamp, server_default=NOW),
    required("seen_at", Timestamp, server_default=NOW),
    required("expires_at", Timestamp),
    required("address", sa.Text, server_default=""),
    required(
        "new_device",
        sa.Boolean,
        server_default=FALSE,
        comment="an unknown browser, which the person has not recognised yet",
    ),
    sa.Column("provider_session", sa.Text, comment="the session of the identity provider: sid"),
    index("ix_sessions_person_id", "person_id"),
)

second_factors: Final = table(
    "second_factors",
    "code generators that people set up beside their password",
    key("person_id", sa.ForeignKey("people.id")),
    required("secret", sa.LargeBinary, comment="the shared key of RFC 6238"),
    sa.Column("confirmed_at", Timestamp, comment="when its first code was entered; null: not in use"),
    required("last_step", sa.BigInteger, server_default=sa.text("0"), comment="step of the last code used"),
    required(
        "recovery_hashes",
        sa.ARRAY(sa.LargeBinary),
        server_default=sa.text("'{}'::bytea[]"),
        comment="SHA-256 of the recovery codes that were not used",
    ),
    required("created_at", Timestamp, server_default=NOW),
)

sign_in_attempts: Final = table(
    "sign_in_attempts",
    "for waits and rate limits; swept after a day",
    key("id", sa.BigInteger, sa.Identity()),
    required("at", Timestamp, server_default=NOW),
    *required_texts("address", "login"),
    required("device", sa.Text, server_default="", comment="a browser that signed in before"),
    required("worked", sa.Boolean),
    index("ix_sign_in_attempts_address", "address", "at"),
    index("ix_sign_in_attempts_login", "login", "at"),
    index("ix_sign_in_attempts_at", "at"),
)

sign_in_links: Final = table(
    "sign_in_links",
    "links that sign one person in once; deleted when used",
    key("token_hash", sa.LargeBinary, comment="SHA-256 of what the link holds"),
    required("person_id", sa.ForeignKey("people.id")),
    required("expires_at", Timestamp),
)

oidc_states: Final = table(
    "oidc_states",
    "sign-ins under way at the identity provider",
    key("state_hash", sa.LargeBinary, comment="SHA-256 of the state parameter"),
    required("data", JSONB, comment="nonce, PKCE verifier, return path"),
    required("expires_at", Timestamp),
)

api_tokens: Final = table(
    "api_tokens",
    "credentials of programs that use the JSON API",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("person_id", sa.ForeignKey("people.id"), comment="the token never has more rights"),
    required("name", sa.Text),
    required("token_hash", sa.LargeBinary, unique=True, comment="SHA-256"),
    required("prefix", sa.Text, comment="first characters, to tell tokens apart"),
    required(
        "scopes",
        sa.ARRAY(sa.Text),
        server_default=sa.text("'{read}'::text[]"),
        comment="what it may do of what its person may; db.people.api_tokens.TokenScope",
    ),
    required(
        "fail_open",
        sa.Boolean,
        server_default=sa.false(),
        comment="checks that could not be made let the text pass",
    ),
    required("created_at", Timestamp, server_default=NOW),
    required("expires_at", Timestamp),
    sa.Column("used_at", Timestamp),
    sa.Column("revoked_at", Timestamp),
    index("ix_api_tokens_person_id", "person_id"),
    sa.CheckConstraint(
        "scopes <> '{}' AND scopes <@ ARRAY['read', 'publish', 'check', 'review', 'answer', 'manage']",
        name="scopes_known",
    ),
)
