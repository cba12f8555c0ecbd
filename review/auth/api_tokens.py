"""API tokens: shown once when made, then known by their hash only."""

from __future__ import annotations

import secrets
from typing import Final

from db.people import api_tokens, records
from db.people.records import Person
from review.http.visit import Refused, Visit

PREFIX: Final = "hg_"
"""Secret scanners recognise a leaked token by it."""
SHOWN_CHARS: Final = 9
MOST_DAYS: Final = 365


def new_api_token() -> str:
    """A new API token: the prefix and 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


async def token_person(visit: Visit, header: str) -> Person:
    """The person whose API token the header holds.

    Raises:
        Refused: 401 when it holds none, the token has ended, or its owner may not sign in.
    """
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.startswith(PREFIX):
        raise Refused(401, "No API token", "Expected the header Authorization: Bearer hg_...")
    async with visit.store.writing() as connection:
        person_id = await api_tokens.token_owner(connection, token.strip(), now=visit.now)
        person = await records.get_person(connection, person_id) if person_id is not None else None
    if person is None or person.disabled:
        raise Refused(401, "The API token does not work", "It was revoked, has expired or never existed.")
    return person
