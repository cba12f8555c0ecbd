"""Keys of second factors as the database stores them: sealed when the review pages have a key.

A stolen copy of the database then holds no usable second factor. AES-256-GCM with a nonce of 96 bits; the
person's id is authenticated, so that a sealed key moved to another person does not open.
"""

from __future__ import annotations

import secrets
from typing import Final
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from review.http.visit import Refused
from worker.settings.retention import key_bytes
from worker.settings.review import ReviewSettings

FORM: Final = b"\x01"
"""First byte of a sealed key: the form of the rest, nonce and ciphertext with its tag."""
NONCE_BYTES: Final = 12
PLAIN_BYTES: Final = 20
"""Bytes of an unsealed key. A sealed one has 49."""


def sealed(secret: bytes, person_id: UUID, settings: ReviewSettings) -> bytes:
    """The key as it is stored; unchanged without HUSHGATE_SECOND_FACTOR_KEY."""
    if settings.second_factor_key is None:
        return secret
    nonce = secrets.token_bytes(NONCE_BYTES)
    return FORM + nonce + _cipher(settings).encrypt(nonce, secret, person_id.bytes)


def opened(stored: bytes, person_id: UUID, settings: ReviewSettings) -> bytes:
    """The key that ``stored`` holds.

    Raises:
        Refused: 503, it is sealed with another key than HUSHGATE_SECOND_FACTOR_KEY, or for another person.
    """
    if len(stored) == PLAIN_BYTES:
        return stored
    nonce, rest = stored[1 : 1 + NONCE_BYTES], stored[1 + NONCE_BYTES :]
    try:
        if stored[:1] == FORM and settings.second_factor_key is not None:
            return _cipher(settings).decrypt(nonce, rest, person_id.bytes)
    except InvalidTag:
        pass
    raise Refused(
        503,
        "Second factor not readable",
        "The server's HUSHGATE_SECOND_FACTOR_KEY does not open it. Ask the operator of this server.",
    )


def _cipher(settings: ReviewSettings) -> AESGCM:
    key = settings.second_factor_key
    return AESGCM(key_bytes(key.get_secret_value() if key else ""))
