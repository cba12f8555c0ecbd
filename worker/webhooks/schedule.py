"""When an attempt counts as delivered, and when the next one is made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

DELAYS_S: Final = (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Wait before each attempt, from the end of the attempt before: the schedule of Standard Webhooks 1.0.0."""
ATTEMPTS: Final = len(DELAYS_S)
JITTER: Final = 0.1
"""Greatest share by which a wait is lengthened, so that deliveries that failed together return apart."""
WAITING_STATUSES: Final = frozenset({429, 503})
"""Answers whose ``Retry-After`` holds for every delivery of the endpoint."""
GONE: Final = 410


class AttemptError(StrEnum):
    """Why an attempt failed; stored."""

    ADDRESS_REFUSED = "address_refused"
    NAME_NOT_RESOLVED = "name_not_resolved"
    NOT_CONNECTED = "not_connected"
    TLS = "tls"
    TIMEOUT = "timeout"
    BROKEN_OFF = "broken_off"
    REDIRECT = "redirect"
    GONE = "gone"
    STATUS = "status"
    INTERNAL = "internal"


NEVER_SENT: Final = frozenset(
    {
        AttemptError.ADDRESS_REFUSED,
        AttemptError.NAME_NOT_RESOLVED,
        AttemptError.NOT_CONNECTED,
        AttemptError.TLS,
    }
)
"""Failures before the first byte of the request."""
REFUSED_BY_RECEIVER: Final = frozenset({AttemptError.REDIRECT, AttemptError.GONE, AttemptError.STATUS})
"""Failures by which the receiver says that it did not take the event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """What one attempt ended with.

    Attributes:
        error: None after a status of 200 to 299.
        status: of the answer; None without one.
        answer: the beginning of the answer's body, for display.
        retry_after_s: the wait that the receiver asked for; None without one that counts.
        duration_ms: of the whole attempt.
    """

    error: AttemptError | None
    status: int | None = None
    answer: str = ""
    retry_after_s: float | None = None
    duration_ms: float = 0.0

    @property
    def may_have_arrived(self) -> bool:
        """Whether the receiver may have taken the event although no success is known."""
        return self.error is not None and self.error not in NEVER_SENT | REFUSED_BY_RECEIVER


def error_of_status(status: int) -> AttemptError | None:
    """The error that an answer's status stands for; None for success."""
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return AttemptError.REDIRECT
    return AttemptError.GONE if status == GONE else AttemptError.STATUS


def next_attempt(attempts: int, result: AttemptResult, *, now: datetime, draw: float) -> datetime | None:
    """When to try again after this many attempts; None when the schedule is used up.

    ``draw`` is a random number from 0 to 1, for the jitter.
    """
    if attempts >= ATTEMPTS or result.error is AttemptError.GONE:
        return None
    wait = DELAYS_S[attempts] * (1 + JITTER * draw)
    return now + timedelta(seconds=max(wait, result.retry_after_s or 0.0))
