"""What a person should know about their access: sign-ins on unknown browsers, API tokens that end soon."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from db.connection import Connection
from db.people import api_tokens, sessions
from db.people.api_tokens import ApiToken
from db.people.sessions import Session
from review.http.visit import Visit

ENDS_SOON: Final = timedelta(days=14)
SHORT_LIVED: Final = timedelta(days=1)
"""A token of at most this life was made to end; nothing is said about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessNotices:
    """Notices of one person.

    Attributes:
        sign_ins: other open sessions on browsers that the person has not recognised.
        tokens: valid API tokens that end within two weeks and were made for more than a day.
    """

    sign_ins: tuple[Session, ...] = ()
    tokens: tuple[ApiToken, ...] = ()


async def load_notices(visit: Visit, connection: Connection) -> AccessNotices:
    """The notices of the signed-in person."""
    person_id, here = visit.person.person_id, sessions.token_hash(visit.token)
    found = await sessions.list_sessions(connection, person_id, now=visit.now)
    tokens = await api_tokens.list_tokens(connection, person_id)
    return AccessNotices(
        sign_ins=tuple(each for each in found if each.new_device and each.token_hash != here),
        tokens=tuple(
            each
            for each in tokens
            if each.revoked_at is None
            and visit.now < each.expires_at < visit.now + ENDS_SOON
            and each.expires_at - each.created_at > SHORT_LIVED
        ),
    )
