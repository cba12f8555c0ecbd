"""The lanes of a stream, each operation one atomic Lua script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import Any, Final, cast

from redis.asyncio import Redis

from tasks.fairness.shares import ANY_ACCOUNT, ReadPlan
from tasks.lanes.received import received_event
from tasks.shards.clients import LuaScript
from worker.adapters.system_clock import machine_now
from worker.errors import PayloadRejected
from worker.model import Event

GROUP: Final = "hushgate"
IDLE_BEFORE_REPAIR_MS: Final = 60_000
REAP_BATCH: Final = 500
MOST_NEWER: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryGrant:
    """The right to run one entry: the head of a lane that this worker owns.

    Attributes:
        entry_id: the stream entry, ``<ms>-<seq>``, and its shard where there are several: ``@2/4``.
        lane: the ordered queue of its conversation.
        ownership: fencing token of this ownership of the lane.
        starts: how often this entry was granted, 1 for the first time.
        size_bytes: true size of the payload, -1 when the entry has no field ``data``.
        payload: the raw body, cut at ``keep_bytes``.
        event: what the payload is, or why it cannot become an event.
    """

    entry_id: str
    lane: str
    ownership: str
    starts: int
    size_bytes: int
    payload: bytes
    event: Event | PayloadRejected


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """The result of one READ: grants, how many new entries were read, and the last id when none is left.

    ``agent_messages``: people's messages that must wait for their turn.
    """

    grants: tuple[EntryGrant, ...]
    entries_read: int
    last_id: str
    agent_messages: tuple[Event, ...] = ()

    @property
    def has_read_all(self) -> bool:
        """Whether nothing was left to read, so that another READ may wait for an entry after ``last_id``.

        A stream without any entry yet has the id ``0-0``.
        """
        return bool(self.last_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishRequest:
    """One entry that has its row in Postgres; ``keep`` asks for the lane's next entry."""

    grant: EntryGrant
    keep: bool


def script(*names: str) -> str:
    """The text of Lua files, one after the other."""
    folder = resources.files("tasks") / "lanes" / "lua"
    return "".join((folder / f"{name}.lua").read_text() for name in names)


def _raw(entry_id: str) -> str:
    """An entry id as Redis knows it, without the mark of its shard."""
    return entry_id.partition("@")[0]


class Lanes:
    """One worker's view of a stream and its lanes.

    Args:
        redis: from ``connect``; replies must be bytes.
        stream: the name of the stream; the other keys are named after it.
        worker: unique per process start, without spaces.
        keep_bytes: how much of a payload is granted; larger ones become dead letters.
        mark: end of every entry id that leaves this object, so that ids are unique over all shards.
        now: the wall clock of the fleet.
    """

    def __init__(
        self,
        redis: Redis,
        *,
        stream: str,
        worker: str,
        keep_bytes: int,
        mark: str = "",
        now: Callable[[], datetime] = machine_now,
    ) -> None:
        self.redis = redis
        self.stream = stream
        self.mark = mark
        self.worker = worker
        self.keep_bytes = keep_bytes
        self._now = now
        self._prefix = f"{{{stream}}}:"
        self._prepare = LuaScript(redis, script("prepare"))
        self._heartbeat = LuaScript(redis, script("heartbeat"))
        self._leave = LuaScript(redis, script("leave"))
        self._read = LuaScript(redis, script("prelude", "read"))
        self._begin = LuaScript(redis, script("prelude", "begin"))
        self._newer = LuaScript(redis, script("prelude", "newer"))
        self._finish = LuaScript(redis, script("prelude", "finish"))
        self._release = LuaScript(redis, script("prelude", "release"))
        self._reap = LuaScript(redis, script("prelude", "reap"))
        self._repair = LuaScript(redis, script("prelude", "repair"))

    async def prepare(self) -> None:
        """Create the stream and its group if missing; the group begins at the stream's first entry."""
        await self._prepare(keys=[self.stream], args=[GROUP])

    async def heartbeat(self, ttl_ms: int) -> None:
        """Renew this worker's heartbeat for ``ttl_ms``; works on a full server too."""
        keys = self._keys(f"hb:{self.worker}", "workers", "reap_from")
        await self._heartbeat(keys=keys, args=[self.worker, ttl_ms])

    async def read(self, limit: int, plan: ReadPlan = ANY_ACCOUNT) -> ReadResult:
        """READ: admit new entries and take up to ``limit`` lane heads."""
        args = [GROUP, self.worker, limit, self.keep_bytes, self.keep_bytes, *plan.arguments(limit)]
        rows, entries_read, last, agents = await self._read(keys=[self.stream], args=args)
        return ReadResult(
            grants=tuple(map(self._grant, rows)),
            entries_read=int(entries_read),
            last_id=last.decode(),
            agent_messages=self._events(agents),
        )

    async def newer_of_several(self, asked: Sequence[tuple[str, str]]) -> list[tuple[Event, ...]]:
        """For each entry and its lane, the events behind it, oldest first; fewer when they are large."""
        calls = [
            (GROUP, self.worker, _raw(entry_id), lane, MOST_NEWER, self.keep_bytes)
            for entry_id, lane in asked
        ]
        return [self._events(rows) for rows in await self._newer.each([self.stream], calls)]

    async def wait_for_entries(self, last_id: str, block_ms: int) -> None:
        """Return when an entry newer than ``last_id`` is there, or after ``block_ms``."""
        await self.redis.xread({self.stream: last_id}, count=1, block=block_ms)

    async def begin_run(self, entry_id: str) -> int:
        """Count a run of an entry that was granted too often; its number, from 1."""
        return int(await self._begin(keys=[self.stream], args=[GROUP, self.worker, _raw(entry_id)]))

    async def finish(self, requests: Sequence[FinishRequest]) -> list[EntryGrant | None]:
        """FINISH in one round trip for all requests; the lane's next entry for each, or None."""
        calls = [
            (
                *(GROUP, self.worker, _raw(each.grant.entry_id), each.grant.lane, each.grant.ownership),
                *(self.keep_bytes, "1" if each.keep else "0"),
            )
            for each in requests
        ]
        replies = await self._finish.each([self.stream], calls)
        return [self._grant(rows[0]) if rows else None for rows in replies]

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
        return int(freed), tuple(worker.decode(errors="replace") for worker in dead)

    async def repair(self, cursor: str, count: int = 200) -> tuple[str, int]:
        """Put one page of old pending entries back into their lanes; the next cursor ('-' at the end)."""
        args: list[str | int] = [GROUP, self.worker, cursor, count, IDLE_BEFORE_REPAIR_MS, self.keep_bytes]
        last, repaired = await self._repair(keys=[self.stream], args=args)
        return (f"({last.decode()}" if last else "-"), int(repaired)

    async def leave(self) -> None:
        """Release all lanes and end the heartbeat, so that others need not wait for the TTL."""
        await self.release_unknown(frozenset())
        await self._leave(keys=self._keys(f"hb:{self.worker}", "workers", "departed"), args=[self.worker])

    def _keys(self, *names: str) -> list[str]:
        return [self._prefix + name for name in names]

    def _grant(self, row: Sequence[Any]) -> EntryGrant:
        entry_id, lane, ownership, starts, size, payload = row
        marked = entry_id.decode() + self.mark
        return EntryGrant(
            entry_id=marked,
            lane=lane.decode(),
            ownership=ownership.decode(),
            starts=int(starts),
            size_bytes=int(size),
            payload=payload,
            event=received_event(marked, int(size), payload, self._now()),
        )

    def _events(self, rows: Sequence[Sequence[Any]]) -> tuple[Event, ...]:
        """The events of waiting entries, without those that become dead letters."""
        now = self._now()
        found = (received_event(row[0].decode() + self.mark, int(row[1]), row[2], now) for row in rows)
        return tuple(each for each in found if isinstance(each, Event))
