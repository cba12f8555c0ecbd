"""Rate limits of publishing by HTTP, kept in Redis for all servers together."""

from __future__ import annotations

from collections.abc import Mapping

from redis import Redis

from tasks.limits.rates import rate_of, take_all


class PublishRates:
    """Events a second of each API token and of each account.

    Args:
        stream: the stream of events; its hash tag is in the keys, so that all are in one cluster slot.
        most_events: of one request; an unused limit lets that many pass.
        per_s: events a second on average of one API token, and of one account; 0 for no limit.
    """

    def __init__(self, redis: Redis, *, stream: str, most_events: int, per_s: float) -> None:
        self._redis = redis
        self._prefix = f"{{{stream}}}:rate"
        self._most_events = most_events
        self._per_s = per_s

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return bool(self._per_s)

    def wait_s(self, token: str, events: Mapping[str, int]) -> float:
        """Take events by account; seconds to wait when there are too many, and nothing was taken.

        Raises:
            RedisError: Redis did not answer.
        """
        if not self._per_s:
            return 0.0
        rate = rate_of(self._per_s * 60, least_burst=self._most_events)
        taken = {f"{self._prefix}:token:{token}": (rate, sum(events.values()))}
        taken |= {f"{self._prefix}:account:{user_id}": (rate, count) for user_id, count in events.items()}
        return take_all(self._redis, taken)
