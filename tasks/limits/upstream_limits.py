"""The limits of one account of a model server over the whole fleet, configured and learned."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tasks.limits.quotas import MinuteCount
from tasks.limits.rates import CallRates, SharedRate
from worker.adapters.call_guard import NotCalled
from worker.adapters.server_waits import LONGEST_S, retry_after_s
from worker.model import AttemptOutcome
from worker.ports import Clock
from worker.settings.calls import Resource

RATE_LIMITED: Final = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What a server says is left of a resource.

    Attributes:
        limit: None when the server does not say.
        reset_s: until it is whole again; None when the server does not say.
    """

    resource: Resource
    left: int
    limit: int | None
    reset_s: float | None


def quotas(headers: Mapping[str, str]) -> tuple[Quota, ...]:
    """The quotas in the headers of an answer."""
    found = []
    for resource in Resource:
        left = _number(headers.get(f"x-ratelimit-remaining-{resource}"))
        if left is not None:
            limit = _number(headers.get(f"x-ratelimit-limit-{resource}"))
            reset_s = retry_after_s(headers.get(f"x-ratelimit-reset-{resource}"), 0.0)
            found.append(Quota(resource=resource, left=left, limit=limit, reset_s=reset_s))
    return tuple(found)


def pause_s(headers: Mapping[str, str], status: int) -> float:
    """Seconds in which no call can succeed; 0 without a pause.

    A refusal with ``Retry-After`` says it itself; an answer that used up a quota says when it is whole again.
    """
    if status == RATE_LIMITED:
        for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            try:
                return min(max(0.0, float(headers[name]) * factor), LONGEST_S)
            except (KeyError, ValueError):
                continue
    spent = (each.reset_s or 0.0 for each in quotas(headers) if each.left <= 0)
    return min(max(spent, default=0.0), LONGEST_S)


def _number(text: str | None) -> int | None:
    value = None if text is None else _float(text)
    return None if value is None or not -1e12 < value < 1e12 else int(value)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


SPREAD_SHARE: Final = 0.1
MOST_SPREAD_S: Final = 1.0
"""After a pause the waiting calls begin within a tenth of it, not all at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedQuota:
    """A server's own figure.

    Attributes:
        at_s: monotonic time at which it was said.
    """

    quota: Quota
    at_s: float


class UpstreamLimits:
    """Implements ``worker.adapters.call_guard.CallLimits``.

    Args:
        rates: the configured limits, by resource; a resource without a limit has none.
        longest_pause_s: a longer pause of the server is not waited for: the call fails as the server says.
        paused: called with the seconds of a pause that this process learned, for the other workers.
    """

    def __init__(
        self,
        clock: Clock,
        rates: Mapping[Resource, SharedRate],
        *,
        longest_pause_s: float,
        paused: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.rates = CallRates(rates)
        self.learned_quotas: dict[Resource, LearnedQuota] = {}
        self._clock = clock
        self._longest_pause_s = longest_pause_s
        self._paused = paused
        self._paused_until_s = 0.0
        self.used = {resource: MinuteCount() for resource in Resource}

    @property
    def pause_left_s(self) -> float:
        """Seconds until the server takes calls again; 0 while it takes calls."""
        return max(0.0, self._paused_until_s - time.monotonic())

    async def wait(self, tokens: int) -> None:
        """Return when a call of about so many tokens may be made.

        Raises:
            NotCalled: the server's pause is longer than a call waits.
        """
        while left_s := self.pause_left_s:
            if left_s > self._longest_pause_s:
                message = f"the server asked for a pause, {left_s:.0f} s are left"
                raise NotCalled(message, kind=AttemptOutcome.RATE_LIMITED, retry_after_s=left_s)
            spread_s = random.uniform(0, min(MOST_SPREAD_S, left_s * SPREAD_SHARE))  # noqa: S311
            await self._clock.sleep(left_s + spread_s)
        await self.rates.acquire(tokens)
        self.used[Resource.REQUESTS].add(1)

    def learned(self, headers: Mapping[str, str], status: int) -> None:
        """Note what an answer says about the limits."""
        now_s = time.monotonic()
        for quota in quotas(headers):
            self.learned_quotas[quota.resource] = LearnedQuota(quota=quota, at_s=now_s)
        if (seconds := pause_s(headers, status)) > 0:
            self.pause(seconds)
            self._paused(seconds)

    def pause(self, seconds: float) -> None:
        """Make no call for so long; a longer pause that was said before stands."""
        self._paused_until_s = max(self._paused_until_s, time.monotonic() + seconds)

    def spent(self, estimated: int, tokens: int) -> None:
        """Correct the estimate of a call by its true use."""
        self.used[Resource.TOKENS].add(tokens)
        self.rates.spent(estimated, tokens)

    def not_sent(self, tokens: int) -> None:
        """Give back what ``wait`` counted for a call that was not made."""
        self.used[Resource.REQUESTS].add(-1)
        self.rates.give_back(tokens)

    def left(self, resource: Resource) -> int | None:
        """What is left of a resource: the server's figure, or the configured limit less the last minute."""
        known = self.learned_quotas.get(resource)
        rate = self.rates.get(resource)
        figures = []
        if known is not None:
            is_over = known.quota.reset_s is not None and time.monotonic() - known.at_s >= known.quota.reset_s
            if not is_over:
                figures.append(known.quota.left)
            elif known.quota.limit is not None:
                figures.append(known.quota.limit)
        if rate is not None:
            figures.append(max(0, rate.per_minute - rate.used))
        return min(figures, default=None)
