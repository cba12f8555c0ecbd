"""Codes of a second factor: time-based codes (RFC 6238) and recovery codes, and their seal."""

from __future__ import annotations

import base64
import hmac
import secrets
from datetime import datetime
from typing import Final
from uuid import UUID

import segno
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from markupsafe import Markup

from db.connection import Connection
from db.model_servers.sealing import open_seal, seal
from db.people import second_factors
from db.people.second_factors import SecondFactor
from review.http.visit import Refused, Visit
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


SECRET_BYTES: Final = 20
"""160 bits, as RFC 4226 recommends."""
DIGITS: Final = 6
STEP_S: Final = 30
STEPS: Final = (0, -1, 1)
"""Accepted steps around the present one, as RFC 6238 recommends for clocks and slow typing."""
RECOVERY_CODES: Final = 10
RECOVERY_BYTES: Final = 10
GROUP: Final = 4
ISSUER: Final = "Hushgate"


def new_secret() -> bytes:
    """A new shared key."""
    return secrets.token_bytes(SECRET_BYTES)


def key_text(secret: bytes) -> str:
    """The key as people type it into an authenticator app."""
    return _grouped(base64.b32encode(secret).decode(), " ")


def key_image(secret: bytes, login: str) -> Markup:
    """The key as a QR code, an inline SVG."""
    uri = _generator(secret).get_provisioning_uri(login, ISSUER)
    svg = segno.make(uri, error="m").svg_inline(scale=4, border=4, dark="#000", light="#fff")
    return Markup(svg)  # noqa: S704  # made of rectangles by the library; no text of a person is in it


def new_recovery_codes() -> tuple[str, ...]:
    """Codes that work once each, for a person whose device is lost."""
    made = (base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode() for _ in range(RECOVERY_CODES))
    return tuple(_grouped(code.lower(), "-") for code in made)


def matching_step(secret: bytes, code: str, now: datetime) -> int | None:
    """The time step whose code this is, or None."""
    digits = "".join(code.split())
    if len(digits) != DIGITS or not digits.isascii() or not digits.isdigit():
        return None
    present = int(now.timestamp()) // STEP_S
    for step in (present + each for each in STEPS):
        if hmac.compare_digest(_generator(secret).generate(step * STEP_S), digits.encode()):
            return step
    return None


async def use_code(
    visit: Visit, connection: Connection, person_id: UUID, factor: SecondFactor, code: str
) -> str:
    """Which kind of code is right, for the access log: ``code`` or ``recovery code``; empty for a wrong code.

    A right code is used up.
    """
    secret = opened(factor.secret, person_id, visit.site.settings)
    step = matching_step(secret, code, visit.now)
    if step is not None:
        return "code" if await second_factors.use_step(connection, person_id, step) else ""
    plain = code.strip().lower().replace(" ", "-")
    used = await second_factors.use_recovery_code(connection, person_id, second_factors.recovery_hash(plain))
    return "recovery code" if used else ""


def _generator(secret: bytes) -> TOTP:
    return TOTP(secret, DIGITS, SHA1(), STEP_S)  # noqa: S303  # HMAC-SHA1: what every authenticator app reads


def _grouped(text: str, separator: str) -> str:
    return separator.join(text[first : first + GROUP] for first in range(0, len(text), GROUP))
