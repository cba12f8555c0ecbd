"""Passwords: argon2id with the library's defaults (RFC 9106, low-memory profile)."""

from __future__ import annotations

import asyncio
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

LEAST_CHARS: Final = 12
MOST_CHARS: Final = 1024
_HASHER: Final = PasswordHasher()
_NOBODY: Final = _HASHER.hash("nobody has this password")
"""Checked when there is no such person, so that the time tells nothing."""


async def hashed(password: str) -> str:
    """What is stored; in a thread, as it takes tens of milliseconds on purpose."""
    return await asyncio.to_thread(_HASHER.hash, password)


async def matches(stored: str | None, password: str) -> bool:
    """Whether a password is the stored one; as slow without a stored one."""
    return await asyncio.to_thread(_matches, stored, password)


def _matches(stored: str | None, password: str) -> bool:
    try:
        return _HASHER.verify(stored or _NOBODY, password[:MOST_CHARS]) and stored is not None
    except (VerificationError, InvalidHashError):
        return False
