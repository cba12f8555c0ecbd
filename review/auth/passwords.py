"""Password hashing (argon2id, RFC 9106 low-memory profile) and the password policy."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import structlog
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from review.languages import gettext as _
from worker.settings.breached_passwords import BreachedPasswords

log = structlog.get_logger(__name__)

LEAST_CHARS: Final = 12
MOST_CHARS: Final = 1024
LEAST_DIFFERENT: Final = 5
COMMON: Final = frozenset(
    {"password", "passw0rd", "qwerty", "letmein", "welcome", "admin", "hushgate", "iloveyou"}
)
"""Words that make a password guessable when little else is added."""
ROWS: Final = ("abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "01234567890123456789")
_HASHER: Final = PasswordHasher()
_THREADS: Final = ThreadPoolExecutor(max_workers=2, thread_name_prefix="argon2")
"""Two at a time: each takes 64 MiB and a core, and many sign-ins at once must leave some."""


async def hash_password(password: str) -> str:
    """The hash to store; computed in a thread, as it takes tens of milliseconds."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, _HASHER.hash, password)


async def password_matches(stored: str | None, password: str) -> bool:
    """Whether a password matches the stored hash; takes as long without one."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, _matches, stored, password)


def needs_rehash(stored: str) -> bool:
    """True when a hash was made with outdated parameters."""
    return _HASHER.check_needs_rehash(stored)


def password_problem(password: str, *, login: str, name: str) -> str:
    """Why the policy refuses a new password, or an empty text."""
    if len(password) < LEAST_CHARS:
        return _("expected at least %(least)s characters, got %(got)s") % {
            "least": LEAST_CHARS,
            "got": len(password),
        }
    if len(password) > MOST_CHARS:
        return _("expected at most %(most)s characters, got %(got)s") % {
            "most": MOST_CHARS,
            "got": len(password),
        }
    plain = password.casefold()
    if len(set(plain)) < LEAST_DIFFERENT:
        return _("expected at least %(least)s different characters") % {"least": LEAST_DIFFERENT}
    own = {part for part in (login, login.partition("@")[0], *name.split()) if len(part) > 3}
    for word in sorted(own | COMMON | {plain[:6] * (len(plain) // 6)}, key=len, reverse=True):
        rest = plain.replace(word.casefold(), "")
        if word and rest != plain and len(rest) < LEAST_CHARS - 4:
            return _("expected more than a common word, your login or your name with a few characters")
    if any(plain[:LEAST_CHARS] in row * 2 or plain[:LEAST_CHARS] in row[::-1] * 2 for row in ROWS):
        return _("expected no row of the alphabet or the keyboard")
    return ""


def new_password_problem(
    new: str, repeated: str, *, login: str, name: str, breached: Path | None = None
) -> str:
    """Why a form's new password is refused, in a sentence, or an empty text.

    ``breached`` is the file of breached passwords.
    """
    if new != repeated:
        return _("New password, again: it is not the same as the new password.")
    found = password_problem(new, login=login, name=name)
    if not found and breached is not None and _is_breached(new, breached):
        found = _("expected one that is not in the list of breached passwords")
    return _("New password: %(problem)s.") % {"problem": found} if found else ""


def device_mark(stored: str, login: str, nonce: str) -> str:
    """Signature of a device cookie; invalid for another login or another password."""
    message = f"hushgate device {login} {nonce}".encode()
    return hmac.new(stored.encode(), message, hashlib.sha256).hexdigest()


def _is_breached(password: str, path: Path) -> bool:
    """Whether a password is in the list; a list that cannot be read is logged, and every password passes."""
    try:
        return BreachedPasswords(path).contain(password)
    except OSError as error:
        log.warning("breached_passwords_unreadable", error=type(error).__name__)
        return False


def _matches(stored: str | None, password: str) -> bool:
    try:
        return _HASHER.verify(stored or _unmatched_hash(), password[:MOST_CHARS]) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


def _unmatched_hash() -> str:
    """A hash that no password has, as slow to verify as a stored one.

    Verified for unknown logins, so that the time does not depend on whether a login exists. The parts after
    the parameters are 16 bytes of salt and 32 of hash in base64, all zero.
    """
    costs = f"m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    return f"$argon2id$v=19${costs}${'A' * 22}${'A' * 43}"
