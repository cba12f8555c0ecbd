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
LAST_PART: Final = 1 / 4
"""Of the life of a token: one that was made for a week is not announced on its first day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessNotices:
    """Notices of one person.

    Attributes:
        sign_ins: other open sessions on browsers that the person has not recognised.
        tokens: valid API tokens in the last part of their life that end within two weeks.
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
            and timedelta(0)
            < each.expires_at - visit.now
            < min(ENDS_SOON, (each.expires_at - each.created_at) * LAST_PART)
        ),
    )
