"""Rate limits of publishing by HTTP, kept in Redis for all servers together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from redis import Redis

BURST_S: Final = 10.0
"""Seconds of the rate that may be used at once."""
TAKE: Final = """
-- The generic cell rate algorithm. KEYS[i] holds the microsecond from which limit i is free again.
-- ARGV has for each key: microseconds an event costs, microseconds that may be used in advance, events.
-- All limits are charged, or none: the answer is 0, or the microseconds to wait.
local time = redis.call('TIME')
local now, wait, free_at = time[1] * 1000000 + time[2], 0, {}
for i = 1, #KEYS do
  local cost, ahead, events = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  free_at[i] = math.max(tonumber(redis.call('GET', KEYS[i]) or '0'), now) + cost * events
  wait = math.max(wait, free_at[i] - now - ahead)
end
if wait > 0 then return math.ceil(wait) end
for i = 1, #KEYS do
  local milliseconds = math.ceil((free_at[i] - now) / 1000) + 1
  redis.call('SET', KEYS[i], string.format('%.0f', free_at[i]), 'PX', milliseconds)
end
return 0
"""


class RateLimits:
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
        self._take = redis.register_script(TAKE)
        self._prefix = f"{{{stream}}}:rate:"
        self._most_events = most_events
        self._token_rate, self._account_rate = token_rate, account_rate

    def wait_s(self, token: str, events: Mapping[str, int]) -> float:
        """Take events by account; seconds to wait when they are too many, and then nothing was taken.

        Raises:
            RedisError: Redis did not answer, or has no memory.
        """
        limits = [("token", token, self._token_rate, sum(events.values()))]
        limits += [("account", user_id, self._account_rate, count) for user_id, count in events.items()]
        limited = [each for each in limits if each[2] > 0]
        if not limited:
            return 0.0
        keys = [f"{self._prefix}{kind}:{name}" for kind, name, _, _ in limited]
        costs = [part for _, _, rate, count in limited for part in self._cost(rate, count)]
        return int(self._take(keys=keys, args=costs)) / 1e6

    def _cost(self, rate: float, count: int) -> tuple[float, float, int]:
        return 1e6 / rate, max(BURST_S, self._most_events / rate) * 1e6, count
