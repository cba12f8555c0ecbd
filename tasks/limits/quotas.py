"""How much of each limit is used and left, and how long it lasts at the present rate."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

MINUTE_S: Final = 60.0


class MinuteCount:
    """What was counted in the last 60 seconds: this minute, and the remaining part of the minute before."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._minute = 0
        self._this = self._before = 0

    def add(self, amount: int) -> None:
        """Count."""
        self._turn()
        self._this += amount

    @property
    def last_minute(self) -> int:
        """The sum of about the last minute."""
        self._turn()
        return round(self._this + self._before * (1 - self._now_s() % MINUTE_S / MINUTE_S))

    def _turn(self) -> None:
        minute = int(self._now_s() // MINUTE_S)
        if minute != self._minute:
            self._before = self._this if minute == self._minute + 1 else 0
            self._this, self._minute = 0, minute


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaReport:
    """One resource of one account of an upstream, in one worker or summed over all.

    Attributes:
        account: fingerprint of address, key and model.
        upstreams: what shares it, such as ``model, judge``.
        resource: ``requests`` or ``tokens``.
        per_minute: the configured limit; None without one.
        used: in the last minute.
        left: the lower of the configured limit less what was used and of what the server said; None when
            neither is known.
        waiting: calls that wait for it.
        paused_s: until the server takes calls again; 0 when it does.
    """

    account: str
    upstreams: str
    resource: str
    per_minute: int | None
    used: int
    left: int | None
    waiting: int
    paused_s: float

    @property
    def lasts_s(self) -> float | None:
        """Seconds until nothing is left, at the rate of the last minute and without anything added."""
        return None if self.left is None or not self.used else round(self.left / self.used * MINUTE_S, 1)


def summed(reports: Iterable[QuotaReport]) -> tuple[QuotaReport, ...]:
    """The reports of all workers together."""
    groups: dict[tuple[str, str], list[QuotaReport]] = defaultdict(list)
    for each in reports:
        groups[each.upstreams, each.resource].append(each)
    return tuple(_sum(found) for _, found in sorted(groups.items()))


def _sum(found: list[QuotaReport]) -> QuotaReport:
    first = found[0]
    limits = [each.per_minute for each in found if each.per_minute is not None]
    lefts = [each.left for each in found if each.left is not None]
    return QuotaReport(
        account=first.account,
        upstreams=first.upstreams,
        resource=first.resource,
        per_minute=min(limits, default=None),
        used=sum(each.used for each in found),
        left=min(lefts, default=None),
        waiting=sum(each.waiting for each in found),
        paused_s=max(each.paused_s for each in found),
    )
