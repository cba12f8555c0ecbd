"""Which of several consumers works: the others wait, so that replies keep their order."""

from __future__ import annotations

from typing import Final

import redis

from .environment import seconds

LEASE_S: Final = seconds("LEASE_S", 30)
"""When another consumer takes over from a dead one. Longer than a request may take, ``client.TIMEOUT_S``."""
TAKE: Final = """
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) or redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
"""
RENEW: Final = """
return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0
"""
GIVE_BACK: Final = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"


class Lease:
    """The lease of a consumer group."""

    def __init__(self, client: redis.Redis, key: str, owner: str) -> None:
        self.redis, self.key, self.owner = client, key, owner

    def take(self) -> bool:
        """Whether it is ours; it is taken when it is free, and renewed."""
        return self._run(TAKE)

    def renew(self) -> bool:
        """Whether it is still ours, and renewed; never taken again, as another one may have worked since."""
        return self._run(RENEW)

    def give_back(self) -> None:
        """Let the next consumer take it at once."""
        self._run(GIVE_BACK)

    def _run(self, script: str) -> bool:
        return bool(self.redis.eval(script, 1, self.key, self.owner, int(LEASE_S * 1000)))
