"""API tokens: made once, shown once, looked up by their hash."""

from __future__ import annotations

import secrets
from typing import Final

from db import api_tokens, people
from db.people import Person
from review.web import Refused, Visit

PREFIX: Final = "hg_"
"""So that a key in a place where it should not be is found by whoever searches for leaks."""
SHOWN_CHARS: Final = 9
MOST_DAYS: Final = 365


def new_key() -> str:
    """A new key: the prefix and 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


async def person_of(visit: Visit, header: str) -> Person:
    """Who shows a key.

    Raises:
        Refused: 401 when it is no key, does not work any more, or its owner may not sign in.
    """
    scheme, _, key = header.partition(" ")
    if scheme.lower() != "bearer" or not key.startswith(PREFIX):
        raise Refused(401, "No key", "Expected the header Authorization: Bearer hg_...")
    async with visit.store.writing() as connection:
        person_id = await api_tokens.use(connection, key.strip(), now=visit.now)
        person = await people.by_id(connection, person_id) if person_id is not None else None
    if person is None or person.disabled:
        raise Refused(401, "The key does not work", "It was revoked, has expired or never was one.")
    return person
