"""Signed links to the page on which the author of a message appeals: each names one decision, and expires."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from compliance.appeals.intake import AppealableDecision

PURPOSE: Final = b"hushgate appeal 1\0"
"""Signed with the content, so that no other signature of the same secret is a link."""
ID_BYTES: Final = 16
TIME_BYTES: Final = 6
MAC_BYTES: Final = 32
BYTES: Final = ID_BYTES + TIME_BYTES + MAC_BYTES
READ_TIME: Final = timedelta(days=30)
"""How long the outcome can be read after the last day on which it is due."""


def link_expiry(decision: AppealableDecision) -> datetime:
    """When a link to appeal against a decision ends."""
    return decision.until + decision.due_after + READ_TIME


def signed_token(secret: str, decision_id: UUID, expires_at: datetime) -> str:
    """The token of a link: decision, time and HMAC-SHA256, in base64url."""
    content = decision_id.bytes + int(expires_at.timestamp()).to_bytes(TIME_BYTES, "big")
    return base64.urlsafe_b64encode(content + _mac(secret, content)).decode().rstrip("=")


def linked_decision(secret: str, token: str, now: datetime) -> UUID | None:
    """The decision that a token names; None for an expired or foreign token. The token is untrusted text."""
    try:
        found = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None
    content, mac = found[:-MAC_BYTES], found[-MAC_BYTES:]
    if len(found) != BYTES or not hmac.compare_digest(_mac(secret, content), mac):
        return None
    expires_s = int.from_bytes(content[ID_BYTES:], "big")
    if now.astimezone(UTC).timestamp() >= expires_s:
        return None
    return UUID(bytes=content[:ID_BYTES])


def _mac(secret: str, content: bytes) -> bytes:
    return hmac.new(secret.encode(), PURPOSE + content, hashlib.sha256).digest()
