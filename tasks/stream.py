"""The lanes: every Redis call of the hot path, each one atomic Lua script."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final, cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, ResponseError

GROUP: Final = "hushgate"
IDLE_BEFORE_REPAIR_MS: Final = 60_000
REAP_BATCH: Final = 500
MOST_NEWER: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryGrant:
    """The right to run one entry: the head of a lane that this worker owns.

    Attributes:
        entry_id: the stream entry, ``<ms>-<seq>``.
        lane: the ordered queue of its conversation.
        ownership: fencing token of this ownership of the lane.
        starts: how often this entry was granted, 1 for the first time.
        size_bytes: true size of the payload, -1 when the entry has no field ``data``.
        payload: the raw body, cut at ``keep_bytes``.
    """

    entry_id: str
    lane: str
    ownership: str
    starts: int
    size_bytes: int
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEntry:
    """A person's message, not validated, that waits behind another entry; ``payload`` as in a grant."""

    entry_id: str
    size_bytes: int
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """The result of one READ: grants, how many new entries were read, and the last id when idle."""

    grants: tuple[EntryGrant, ...]
    entries_read: int
    last_id: str
    agents: tuple[AgentEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewerEntry:
    """An entry that waits behind another one; ``payload`` is cut where ``size_bytes`` is larger."""

    entry_id: str
    size_bytes: int
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishRequest:
    """One entry that has its row in Postgres; ``keep`` asks for the lane's next entry."""

    grant: EntryGrant
    keep: bool


def lane_of(user_id: str, conversation_id: str) -> str:
    """The lane of a conversation, as ``lane_of`` in prelude.lua names it."""
    return hashlib.sha1(f"{user_id}\0{conversation_id}".encode(), usedforsecurity=False).hexdigest()


def connect(url: str, *, timeout_s: float | None = 10.0) -> Redis:
    """A client without automatic retries: a repeated READ would grant twice."""
    return Redis.from_url(
        url, retry=Retry(NoBackoff(), 0), socket_timeout=timeout_s, socket_connect_timeout=5, protocol=2
    )


def _script(*names: str) -> str:
    folder = resources.files("tasks") / "lua"
    return "".join((folder / f"{name}.lua").read_text() for name in names)


def _grant(row: Sequence[Any]) -> EntryGrant:
    entry_id, lane, ownership, starts, size, payload = row
    return EntryGrant(
        entry_id=entry_id.decode(),
        lane=lane.decode(),
        ownership=ownership.decode(),
        starts=int(starts),
        size_bytes=int(size),
        payload=payload,
    )


def _newer(rows: Sequence[Sequence[Any]]) -> tuple[NewerEntry, ...]:
    return tuple(
        NewerEntry(entry_id=entry.decode(), size_bytes=int(size), payload=data) for entry, size, data in rows
    )


def _agent(row: Sequence[Any]) -> AgentEntry:
    entry_id, size, payload = row
    return AgentEntry(entry_id=entry_id.decode(), size_bytes=int(size), payload=payload)


class Lanes:
    """One worker's view of the stream and its lanes.

    Args:
        redis: from ``connect``; replies must be bytes.
        worker: unique per process start, without spaces.
        keep_bytes: how much of a payload is granted; larger ones become dead letters.
    """

    def __init__(self, redis: Redis, *, stream: str, worker: str, keep_bytes: int) -> None:
        self.redis = redis
        self.stream = stream
        self.worker = worker
        self.keep_bytes = keep_bytes
        self._prefix = f"{{{stream}}}:"
        self._prepare = redis.register_script(_script("prepare"))
        self._heartbeat = redis.register_script(_script("heartbeat"))
        self._leave = redis.register_script(_script("leave"))
        self._read = redis.register_script(_script("prelude", "read"))
        self._begin = redis.register_script(_script("prelude", "begin"))
        self._newer = redis.register_script(_script("prelude", "newer"))
        self._finish = redis.register_script(_script("prelude", "finish"))
        self._release = redis.register_script(_script("prelude", "release"))
        self._reap = redis.register_script(_script("prelude", "reap"))
        self._repair = redis.register_script(_script("prelude", "repair"))

    async def prepare(self) -> None:
        """Create the stream and its group if missing; the group begins at the stream's first entry."""
        await self._prepare(keys=[self.stream], args=[GROUP])

    async def heartbeat(self, ttl_ms: int) -> None:
        """Renew this worker's heartbeat for ``ttl_ms``; works on a full server too."""
        keys = [self._prefix + name for name in (f"hb:{self.worker}", "workers", "reap_from")]
        await self._heartbeat(keys=keys, args=[self.worker, ttl_ms])

    async def read(self, limit: int) -> ReadResult:
        """READ: admit new entries and take up to ``limit`` lane heads."""
        args: list[str | int] = [GROUP, self.worker, limit, self.keep_bytes, self.keep_bytes]
        rows, entries_read, last, agents = await self._read(keys=[self.stream], args=args)
        return ReadResult(
            grants=tuple(_grant(row) for row in rows),
            entries_read=int(entries_read),
            last_id=last.decode(),
            agents=tuple(_agent(row) for row in agents),
        )

    async def newer(self, entry_id: str, lane: str) -> tuple[NewerEntry, ...]:
        """The entries that wait behind one in its lane, oldest first; fewer when they are large."""
        (found,) = await self.newer_of_several([(entry_id, lane)])
        return found

    async def newer_of_several(self, asked: Sequence[tuple[str, str]]) -> list[tuple[NewerEntry, ...]]:
        """``newer`` for several entries with their lanes, in one round trip."""
        pipe = self.redis.pipeline(transaction=False)
        for entry_id, lane in asked:
            args = (GROUP, self.worker, entry_id, lane, MOST_NEWER, self.keep_bytes)
            pipe.evalsha(self._newer.sha, 1, self.stream, *args)
        try:
            replies = await pipe.execute()
        except NoScriptError:
            await self.redis.script_load(self._newer.script)
            return await self.newer_of_several(asked)
        return [_newer(rows) for rows in replies]

    async def wait_for_entries(self, last_id: str, block_ms: int) -> None:
        """Return when an entry newer than ``last_id`` is there, or after ``block_ms``."""
        await self.redis.xread({self.stream: last_id}, count=1, block=block_ms)

    async def begin_run(self, entry_id: str) -> int:
        """Count a run of an entry that was granted too often; its number, from 1."""
        return int(await self._begin(keys=[self.stream], args=[GROUP, self.worker, entry_id]))

    async def finish(self, requests: Sequence[FinishRequest]) -> list[EntryGrant | None]:
        """FINISH in one round trip for all requests; the lane's next entry for each, or None."""
        pipe = self.redis.pipeline(transaction=False)
        for request in requests:
            grant = request.grant
            args = (GROUP, self.worker, grant.entry_id, grant.lane, grant.ownership, self.keep_bytes)
            pipe.evalsha(self._finish.sha, 1, self.stream, *args, "1" if request.keep else "0")
        try:
            replies = await pipe.execute()
        except NoScriptError:
            await self.redis.script_load(self._finish.script)
            return await self.finish(requests)
        return [_grant(rows[0]) if rows else None for rows in replies]

    async def release(self, grants: Sequence[EntryGrant]) -> int:
        """Release lanes with unfinished entries; any worker may take them."""
        return await self._release_lanes([(grant.lane, grant.ownership) for grant in grants])

    async def release_unknown(self, known: frozenset[str]) -> int:
        """Release lanes that Redis counts as ours under an ownership we do not run: its reply was lost."""
        members = await self.redis.smembers(f"{self._prefix}owned:{self.worker}")
        lanes = [lane.decode() for lane in cast("set[bytes]", members)]
        if not lanes:
            return 0
        ownerships = cast("list[bytes | None]", await self.redis.hmget(f"{self._prefix}owner", lanes))
        owned = ((lane, value.decode()) for lane, value in zip(lanes, ownerships, strict=True) if value)
        return await self._release_lanes([pair for pair in owned if pair[1] not in known])

    async def _release_lanes(self, owned: Sequence[tuple[str, str]]) -> int:
        if not owned:
            return 0
        flat = [part for pair in owned for part in pair]
        return int(await self._release(keys=[self.stream], args=[GROUP, self.worker, *flat]))

    async def reap(self, most: int = REAP_BATCH) -> tuple[int, tuple[str, ...]]:
        """Free the lanes of dead workers; how many lanes, and which workers.

        No worker is dead for half a TTL after an outage: ``docs/decisions/0010-dead-workers.md``.
        """
        freed, dead = await self._reap(keys=[self.stream], args=[GROUP, self.worker, most])
        return int(freed), tuple(worker.decode() for worker in dead)

    async def repair(self, cursor: str, count: int = 200) -> tuple[str, int]:
        """Put one page of old pending entries back into their lanes; the next cursor ('-' at the end)."""
        args: list[str | int] = [GROUP, self.worker, cursor, count, IDLE_BEFORE_REPAIR_MS, self.keep_bytes]
        last, repaired = await self._repair(keys=[self.stream], args=args)
        return (f"({last.decode()}" if last else "-"), int(repaired)

    async def leave(self) -> None:
        """Release all lanes and end the heartbeat, so that others need not wait for the TTL."""
        await self.release_unknown(frozenset())
        keys = [self._prefix + name for name in (f"hb:{self.worker}", "workers", "departed")]
        await self._leave(keys=keys, args=[self.worker])


async def backlog(redis: Redis, stream: str) -> dict[str, int]:
    """The figures of a stream: accepted ever, unfinished, ready lanes, workers, vanished; zeros when new."""
    try:
        info = await redis.xinfo_stream(stream)
    except ResponseError:
        info = {"entries-added": 0, "length": 0}
    vanished = await redis.get(f"{{{stream}}}:vanished")
    ready = await redis.scard(f"{{{stream}}}:ready")
    workers = await redis.scard(f"{{{stream}}}:workers")
    return {
        "accepted": int(info["entries-added"]),
        "unfinished": int(info["length"]),
        "ready_lanes": int(ready),
        "workers": int(workers),
        "vanished": int(vanished or 0),
    }
