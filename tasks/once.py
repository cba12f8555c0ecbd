"""A stream that takes every entry once, however often a relay that died is repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson
from redis.asyncio import Redis
from redis.exceptions import NoScriptError

MARK_TTL_S: Final = 7 * 86_400

SEND: Final = """
-- KEYS[1] stream, KEYS[2] mark of this entry; ARGV[1] seconds the mark lives, ARGV[2..] fields.
-- An entry whose mark is there was sent by a relay that died before it could say so in Postgres.
if redis.call('SET', KEYS[2], '1', 'NX', 'EX', ARGV[1]) then
  redis.call('XADD', KEYS[1], '*', unpack(ARGV, 2))
  return 1
end
return 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One entry to put.

    Attributes:
        mark: what tells it from every other entry of its stream.
        key: for readers to deduplicate by.
        body: its JSON object.
    """

    mark: str
    key: str
    body: Mapping[str, str]


class OnceStream:
    """A stream of ours that others read.

    Args:
        redis: its server.
        name: its key.
    """

    def __init__(self, redis: Redis, name: str) -> None:
        self._redis = redis
        self._name = name
        self._send = redis.register_script(SEND)

    async def put(self, entries: Sequence[Outgoing]) -> None:
        """Append those that are not there yet, in one round trip.

        Raises:
            RedisError: nothing is known of the outcome; safe to repeat.
        """
        pipe = self._redis.pipeline(transaction=False)
        for entry in entries:
            mark = f"{{{self._name}}}:sent:{entry.mark}"
            fields = ("key", entry.key, "data", orjson.dumps(dict(entry.body)))
            pipe.evalsha(self._send.sha, 2, self._name, mark, MARK_TTL_S, *fields)
        try:
            await pipe.execute()
        except NoScriptError:
            await self._redis.script_load(self._send.script)
            await self.put(entries)
