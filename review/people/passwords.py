"""Passwords: argon2id with the library's defaults (RFC 9106, low-memory profile), and which are refused."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

LEAST_CHARS: Final = 12
MOST_CHARS: Final = 1024
LEAST_DIFFERENT: Final = 5
COMMON: Final = frozenset(
    {"password", "passw0rd", "qwerty", "letmein", "welcome", "admin", "hushgate", "iloveyou"}
)
"""Words that make a password guessable when little else stands beside them."""
ROWS: Final = ("abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "01234567890123456789")
_HASHER: Final = PasswordHasher()
_NOBODY: Final = _HASHER.hash("nobody has this password")
"""Checked when there is no such person, so that the time tells nothing."""
_THREADS: Final = ThreadPoolExecutor(max_workers=2, thread_name_prefix="argon2")
"""Two at a time: each takes 64 MiB and a core, and a storm of sign-ins must not take all."""


async def hashed(password: str) -> str:
    """What is stored; in a thread, as it takes tens of milliseconds on purpose."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, _HASHER.hash, password)


async def matches(stored: str | None, password: str) -> bool:
    """Whether a password is the stored one; as slow without a stored one."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, _matches, stored, password)


def outdated(stored: str) -> bool:
    """True when a password was hashed with other parameters than are usual now."""
    return _HASHER.check_needs_rehash(stored)


def problem(password: str, *, login: str, name: str) -> str:
    """Why a new password is refused, or an empty text: length, variety, words, own names."""
    if len(password) < LEAST_CHARS:
        return f"expected at least {LEAST_CHARS} characters, got {len(password)}"
    if len(password) > MOST_CHARS:
        return f"expected at most {MOST_CHARS} characters, got {len(password)}"
    plain = password.casefold()
    if len(set(plain)) < LEAST_DIFFERENT:
        return f"expected at least {LEAST_DIFFERENT} different characters"
    own = {part for part in (login, login.partition("@")[0], *name.split()) if len(part) > 3}
    for word in sorted(own | COMMON | {plain[:6] * (len(plain) // 6)}, key=len, reverse=True):
        rest = plain.replace(word.casefold(), "")
        if word and rest != plain and len(rest) < LEAST_CHARS - 4:
            return "expected more than a common word, your login or your name with a few characters"
    if any(plain[:LEAST_CHARS] in row * 2 or plain[:LEAST_CHARS] in row[::-1] * 2 for row in ROWS):
        return "expected something else than a row of the alphabet or the keyboard"
    return ""


def device_mark(stored: str, login: str, nonce: str) -> str:
    """What a browser keeps that was let in once; worth nothing for another login or another password."""
    message = f"hushgate device {login} {nonce}".encode()
    return hmac.new(stored.encode(), message, hashlib.sha256).hexdigest()


def _matches(stored: str | None, password: str) -> bool:
    try:
        return _HASHER.verify(stored or _NOBODY, password[:MOST_CHARS]) and stored is not None
    except (VerificationError, InvalidHashError):
        return False
