"""Secrets and signatures of Standard Webhooks 1.0.0, version v1: HMAC-SHA256."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Final

PREFIX: Final = "whsec_"
SECRET_BYTES: Final = (24, 64)
"""Least and most bytes of a secret, by the specification."""
NEW_SECRET_BYTES: Final = 32
HINT_CHARS: Final = 4


def encode_secret(key: bytes) -> str:
    """The text of a secret.

    Raises:
        ValueError: too few or too many bytes.
    """
    least, most = SECRET_BYTES
    if not least <= len(key) <= most:
        raise ValueError(f"secret: expected {least} to {most} bytes, got {len(key)}")
    return PREFIX + base64.b64encode(key).decode()


def decode_secret(text: str) -> bytes:
    """The bytes of a secret.

    Raises:
        ValueError: the text is no secret; the message does not quote it.
    """
    least, most = SECRET_BYTES
    wanted = f"secret: expected {PREFIX} and the base64 of {least} to {most} bytes"
    if not text.startswith(PREFIX):
        raise ValueError(f"{wanted}, got another prefix")
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"{wanted}, got no base64") from None
    if not least <= len(key) <= most:
        raise ValueError(f"{wanted}, got {len(key)} bytes")
    return key


def secret_hint(secret: str) -> str:
    """The shown part of a secret: its first characters, by which its owner recognises it."""
    return secret[: len(PREFIX) + HINT_CHARS] + "…"


def message_id(user_id: str, event_type: str, key: str) -> str:
    """The ``webhook-id`` of an event: the same for every endpoint, attempt and replay."""
    parts = f"{user_id}\0{event_type}\0{key}".encode("utf-8", "surrogatepass")
    return f"msg_{hashlib.sha256(parts).hexdigest()[:32]}"


def signed_headers(body: bytes, *, identifier: str, secrets: Sequence[str], now: datetime) -> dict[str, str]:
    """The three headers; one signature for each secret, the newest first."""
    timestamp = str(int(now.timestamp()))
    content = b".".join((identifier.encode(), timestamp.encode(), body))
    digests = [hmac.digest(decode_secret(each), content, "sha256") for each in secrets]
    return {
        "webhook-id": identifier,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{base64.b64encode(each).decode()}" for each in digests),
    }
