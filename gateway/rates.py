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
        token_rate: events a second of one API token on average; 0 for no limit.
        account_rate: the same of one account.
    """

    def __init__(
        self, redis: Redis, *, stream: str, most_events: int, token_rate: float, account_rate: float
    ) -> None:
        self._redis = redis
        self._prefix = f"{{{stream}}}:rate"
        self._most_events = most_events
        self._token_rate, self._account_rate = token_rate, account_rate

    def wait_s(self, token: str, events: Mapping[str, int]) -> float:
        """Take events by account; seconds to wait when they are too many, and then nothing was taken.

        Raises:
            RedisError: Redis did not answer.
        """
        limits = [("token", token, self._token_rate, sum(events.values()))]
        limits += [("account", user_id, self._account_rate, count) for user_id, count in events.items()]
        rates = {
            f"{self._prefix}:{kind}:{name}": (rate_of(per_s * 60, least_burst=self._most_events), count)
            for kind, name, per_s, count in limits
            if per_s > 0
        }
        return take_all(self._redis, rates)
