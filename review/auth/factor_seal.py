"""Keys of second factors as the database stores them: sealed when the review pages have a key."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from db.model_servers.sealing import open_seal, seal
from review.http.visit import Refused
from worker.settings.review import ReviewSettings

PLAIN_BYTES: Final = 20
"""Bytes of an unsealed key. A sealed one has 49."""


def sealed(secret: bytes, person_id: UUID, settings: ReviewSettings) -> bytes:
    """The key as it is stored; unchanged without HUSHGATE_SECRETS_KEY."""
    key = settings.secrets_key
    return secret if key is None else seal(secret, person_id.bytes, key)


def opened(stored: bytes, person_id: UUID, settings: ReviewSettings) -> bytes:
    """The key that ``stored`` holds.

    Raises:
        Refused: 503, it is sealed with another key than HUSHGATE_SECRETS_KEY, or for another person.
    """
    if len(stored) == PLAIN_BYTES:
        return stored
    if (secret := open_seal(stored, person_id.bytes, settings.secrets_key)) is not None:
        return secret
    raise Refused(
        503,
        "Second factor not readable",
        "The server's HUSHGATE_SECRETS_KEY does not open it. Ask the operator of this server.",
    )
