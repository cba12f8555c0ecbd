"""An output stream that takes every entry once, from one relay at a time, even if a relay was frozen."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import orjson
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError, RedisError

from tasks.shards.clients import LuaScript
from tasks.stream_upkeep.redis_memory import memory
from worker.errors import StreamFull

MARK_TTL_S: Final = 7 * 86_400
BATCH: Final = 100
"""Most entries of one script call, which blocks the server while it runs."""
LEASE_S: Final = 5.0
"""Life of a relay's right to send. Shorter than ``db.outbox.HOLD_S``: the right must end before the lock."""
RESERVE: Final = 0.1
"""Share of ``maxmemory`` that our entries may use above it, so that publishers cannot stop replies."""

ACQUIRE: Final = """#!lua flags=allow-oom
-- KEYS[1] lease, KEYS[2] when Redis first had this stream; ARGV[1] token, ARGV[2] milliseconds a lease lives.
redis.call('SET', KEYS[2], redis.call('TIME')[1], 'NX')
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0
"""
RELEASE: Final = """#!lua flags=allow-oom
-- KEYS[1] lease; ARGV[1] token.
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""
SEND: Final = """
-- KEYS[1] stream, KEYS[2] lease, KEYS[3..] marks of the entries; ARGV[1] token, ARGV[2] seconds a mark lives,
-- ARGV[3] '1' when the lease ends with these entries, ARGV[4..] for each entry its decision, the count of its
-- names and values, then these. Returns how many entries are on the stream, then the place and the decision
-- of each that was sent for another decision.
-- Redis checks its memory at the start only: it adds all or none.
-- A relay whose lease has ended read its entries too long ago: it sends nothing.
-- An entry whose mark exists was sent by a relay that died before it recorded that in Postgres, or for a
-- decision that Postgres has lost.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return {0} end
local at, found = 4, {#KEYS - 2}
for i = 3, #KEYS do
  local last, sent_as = at + 1 + tonumber(ARGV[at + 1]), redis.call('GET', KEYS[i])
  if not sent_as then
    redis.call('XADD', KEYS[1], '*', unpack(ARGV, at + 2, last))
    redis.call('SET', KEYS[i], ARGV[at], 'EX', ARGV[2])
  elseif sent_as ~= ARGV[at] then
    found[#found + 1], found[#found + 2] = i - 3, sent_as
  end
  at = last + 1
end
if ARGV[3] == '1' then redis.call('DEL', KEYS[2]) end
return found
"""
SENT: Final = """#!lua flags=allow-oom
-- KEYS[1] lease, KEYS[2..] marks; ARGV[1] token. Returns each mark's value, nothing when the lease ended:
-- while it lives, no request of an earlier relay can still set a mark.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {} end
local found = {}
for i = 2, #KEYS do found[#found + 1] = redis.call('GET', KEYS[i]) end
return found
"""


def marks_of(stream: str) -> str:
    """What the keys of a stream's marks begin with."""
    return f"{{{stream}}}:sent:"


def begun_key(stream: str) -> str:
    """When Redis first had a stream, by its clock: marks of before are lost when Redis came back empty."""
    return f"{{{stream}}}:begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingEntry:
    """One entry to append.

    Attributes:
        mark: unique id of the entry within its stream.
        decision: kept in the mark.
        key: deduplication key for readers.
        attributes: further fields of the entry, beside ``key`` and ``data``.
    """

    mark: str
    key: str
    body: Mapping[str, object]
    decision: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)

    def fields(self, stream: str, signing_key: bytes | None) -> tuple[str | bytes, ...]:
        """Names and values of the entry's fields, alternating; with a signature when there is a key."""
        data = orjson.dumps(dict(self.body))
        fields: dict[str, str | bytes] = {"key": self.key, "data": data, **self.attributes}
        if signing_key is not None:
            fields["signature"] = self._signature(stream, signing_key, data)
        return tuple(part for item in fields.items() for part in item)

    def _signature(self, stream: str, signing_key: bytes, data: bytes) -> str:
        """HMAC-SHA256 of the entry, see docs/channels.md; ``key`` is last: it may hold any text."""
        names = ("ce_id", "ce_type", "ce_source", "ce_time")
        digest = hashlib.sha256(data).hexdigest()
        signed = "\n".join((stream, *(self.attributes.get(name, "") for name in names), digest, self.key))
        mac = hmac.digest(signing_key, signed.encode(), hashlib.sha256)
        return "v1," + base64.b64encode(mac).decode()


class OnceStream:
    """A stream that we write and others read.

    Args:
        name: the key of the stream in Redis.
        signing_key: signs each entry: others with access to Redis can write to the stream too.
    """

    def __init__(self, redis: Redis, name: str, signing_key: bytes | None = None) -> None:
        self.redis = redis
        self.name = name
        self.signing_key = signing_key
        self.lease_key = f"{{{name}}}:relay"
        self.acquire = LuaScript(redis, ACQUIRE)
        self.release = LuaScript(redis, RELEASE)
        self.sent = LuaScript(redis, SENT)
        self.send = LuaScript(redis, f"#!lua{SEND}")
        self.send_over_limit = LuaScript(redis, f"#!lua flags=allow-oom{SEND}")

    def mark_key(self, mark: str) -> str:
        """The key that shows that an entry was put on the stream."""
        return marks_of(self.name) + mark

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Lease | None]:
        """The right to send, for ``LEASE_S`` at most; None while another relay has the right.

        Read the entries to send after you have the lease.
        """
        token = secrets.token_hex(8)
        if not await self.acquire(
            keys=[self.lease_key, begun_key(self.name)], args=[token, int(LEASE_S * 1000)]
        ):
            yield None
            return
        lease = Lease(self, token)
        try:
            yield lease
        finally:
            await lease.end()


class Lease:
    """One relay's right to send on a stream; ``OnceStream.lease`` gives it.

    Attributes:
        sent_as: of entries that had been sent for another decision: this decision, by mark.
    """

    def __init__(self, stream: OnceStream, token: str) -> None:
        self.sent_as: dict[str, str] = {}
        self._stream = stream
        self._token = token
        self._has_ended = False

    async def put(self, entries: Sequence[OutgoingEntry]) -> int:
        """Append the entries that are missing, in order; how many of the first ones the stream holds now.

        The lease ends with the last of them, without a call of its own. Fewer than given: it had ended
        before, and another relay sends the rest.

        Raises:
            StreamFull: the server has no memory left, nor the reserve.
            RedisError: the outcome is unknown; safe to repeat.
        """
        sent = 0
        try:
            for first in range(0, len(entries), BATCH):
                batch = entries[first : first + BATCH]
                is_last = first + BATCH >= len(entries)
                present = await self._put_batch(batch, ends=is_last)
                self._has_ended = is_last and present == len(batch)
                sent += present
                if present < len(batch):
                    break
        except (RedisError, OSError):
            await self.end()  # a request still in flight must find no lease
            raise
        return sent

    async def sent(self, marks: Sequence[str]) -> list[str | None] | None:
        """The decision of each mark, None for entries not on the stream; None when the lease has ended."""
        stream = self._stream
        keys = [stream.lease_key, *map(stream.mark_key, marks)]
        found = await stream.sent(keys=keys, args=[self._token])
        if len(found) != len(marks):
            return None
        return [None if value is None else value.decode() for value in found]

    async def end(self) -> None:
        """Release the lease; the lease expires when Redis does not answer."""
        if self._has_ended:
            return
        with suppress(RedisError, OSError):
            await self._stream.release(keys=[self._stream.lease_key], args=[self._token])

    async def _require_reserve(self) -> None:
        found = await memory(self._stream.redis, self._stream.name)
        if found.share >= 1 + RESERVE:
            raise StreamFull(f"{self._stream.name}: Redis is full beyond the reserve for replies: {found}")

    async def _put_batch(self, entries: Sequence[OutgoingEntry], *, ends: bool) -> int:
        name = self._stream.name
        keys = [name, self._stream.lease_key, *(self._stream.mark_key(entry.mark) for entry in entries)]
        args: list[str | bytes | int] = [self._token, MARK_TTL_S, int(ends)]
        for entry in entries:
            fields = entry.fields(name, self._stream.signing_key)
            args += [entry.decision, len(fields), *fields]
        try:
            found = await self._stream.send(keys=keys, args=args)
        except OutOfMemoryError:
            await self._require_reserve()
            found = await self._stream.send_over_limit(keys=keys, args=args)
        present, *others = found
        for place, sent_as in zip(others[::2], others[1::2], strict=True):
            self.sent_as[entries[place].mark] = sent_as.decode()
        return int(present)
