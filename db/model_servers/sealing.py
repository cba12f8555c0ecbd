"""Secrets as the database stores them, sealed with HUSHGATE_SECRETS_KEY.

A stolen copy of the database holds no usable secret. AES-256-GCM with a nonce of 96 bits; the owner of a
secret is authenticated, so that a sealed secret moved to another owner does not open.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from worker.settings.retention import key_bytes

if TYPE_CHECKING:  # loaded with the first secret: most workers have none
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORM: Final = b"\x01"
"""First byte of a sealed secret: the form of the rest, nonce and ciphertext with its tag."""
NONCE_BYTES: Final = 12


def seal(secret: bytes, owner: bytes, key: SecretStr) -> bytes:
    """The sealed form of a secret; ``owner``: what the secret belongs to."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return FORM + nonce + _cipher(key).encrypt(nonce, secret, owner)


def open_seal(sealed: bytes, owner: bytes, key: SecretStr | None) -> bytes | None:
    """The secret; None: there is no key, or the secret has another key or another owner."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415  # as in _cipher

    if key is None or sealed[:1] != FORM:
        return None
    nonce, rest = sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
    try:
        return _cipher(key).decrypt(nonce, rest, owner)
    except (InvalidTag, ValueError):
        return None


def _cipher(key: SecretStr) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  # see above

    return AESGCM(key_bytes(key.get_secret_value()))
