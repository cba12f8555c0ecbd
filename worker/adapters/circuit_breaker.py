"""A circuit breaker: after several failures in a row an upstream is not called for a while.

::

    closed ── failures in a row ──► open ── pause ──► half-open: one call at a time is a probe
       ▲                             ▲                    │ answered          │ failed
       └─────────────────────────────┼────────────────────┘                   │
                                     └──────── twice the pause ◄──────────────┘
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class BreakerState(StrEnum):
    """Whether an upstream is called; shown in metrics and by ``hushgate doctor``."""

    CLOSED = "closed"
    HALF_OPEN = "half_open"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerLimits:
    """When a breaker opens, and for how long.

    Attributes:
        failures: in a row that open it; 0: it never opens.
        first_pause_s: from opening to the first probe; doubled after each failed probe.
        longest_pause_s: where the doubling ends.
    """

    failures: int = 10
    first_pause_s: float = 2.0
    longest_pause_s: float = 10.0


class CircuitOpen(Exception):
    """The upstream must not be called for ``retry_after_s`` seconds."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"circuit open, next probe in {retry_after_s:.1f} s")
        self.retry_after_s = retry_after_s


class CallAdmission(StrEnum):
    """What a call is to the breaker; only those admitted in its present state change it."""

    NORMAL = "normal"
    PROBE = "probe"


class CircuitBreaker:
    """The state of one upstream in this process.

    Args:
        now_s: seconds that never run backwards.
        changed: called with each new state.
    """

    def __init__(
        self,
        limits: BreakerLimits,
        now_s: Callable[[], float] = time.monotonic,
        changed: Callable[[BreakerState], None] = lambda _: None,
    ) -> None:
        self._limits = limits
        self._now_s = now_s
        self._changed = changed
        self._state = BreakerState.CLOSED
        self._failures = 0
        self._pause_s = limits.first_pause_s
        self._open_until_s = 0.0
        self._probing = False
        self.times_opened = 0

    @property
    def state(self) -> BreakerState:
        """The state now."""
        return self._state

    def admit(self) -> CallAdmission:
        """Let a call pass; ``ended`` or ``abandoned`` must follow.

        Raises:
            CircuitOpen: it must not be made.
        """
        if self._state is BreakerState.CLOSED:
            return CallAdmission.NORMAL
        left_s = self._open_until_s - self._now_s()
        if left_s > 0:
            raise CircuitOpen(left_s)
        if self._probing:
            raise CircuitOpen(self._pause_s)
        self._probing = True
        self._become(BreakerState.HALF_OPEN)
        return CallAdmission.PROBE

    def check(self) -> None:
        """Raise as ``admit`` would, without letting a call pass."""
        left_s = self._open_until_s - self._now_s()
        if self._state is not BreakerState.CLOSED and (left_s > 0 or self._probing):
            raise CircuitOpen(left_s if left_s > 0 else self._pause_s)

    def ended(self, admission: CallAdmission, *, failed: bool) -> None:
        """Note how a call ended; one that began before the breaker opened changes nothing then."""
        if admission is CallAdmission.PROBE:
            self._probing = False
            if failed:
                self._pause_s = min(self._pause_s * 2, self._limits.longest_pause_s)
                self._open()
            else:
                self._close()
        elif self._state is BreakerState.CLOSED:
            self._failures = self._failures + 1 if failed else 0
            if self._limits.failures and self._failures >= self._limits.failures:
                self._open()

    def abandoned(self, admission: CallAdmission) -> None:
        """Note a cancelled call, which says nothing about the upstream."""
        if admission is CallAdmission.PROBE:
            self._probing = False

    def _open(self) -> None:
        self._failures = 0
        self._open_until_s = self._now_s() + self._pause_s
        self.times_opened += 1
        self._become(BreakerState.OPEN)

    def _close(self) -> None:
        self._failures, self._pause_s = 0, self._limits.first_pause_s
        self._become(BreakerState.CLOSED)

    def _become(self, state: BreakerState) -> None:
        if state is not self._state:
            self._state = state
            self._changed(state)
