"""The lanes: every Redis call of the hot path, each one atomic Lua script."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The right to run one entry: the head of a lane that this worker owns.

    Attributes:
        entry_id: the stream entry, ``<ms>-<seq>``.
        lane: the ordered queue of its conversation.
        ownership: fences this ownership of the lane from any earlier or later one.
        starts: how often this entry was handed out, 1 for the first time.
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
class ReadResult:
    """What one READ gave: grants, how many entries left the stream's tail, and its last id when idle."""

    grants: tuple[Grant, ...]
    entries_read: int
    last_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishRequest:
    """One entry that has its row in Postgres; ``keep`` asks for the lane's next entry."""

    grant: Grant
    keep: bool


def connect(url: str, *, timeout_s: float | None = 10.0) -> Redis:
    """A client that never repeats a call by itself: a repeated READ would grant twice."""
    return Redis.from_url(
        url, retry=Retry(NoBackoff(), 0), socket_timeout=timeout_s, socket_connect_timeout=5, protocol=2
    )


def _script(*names: str) -> str:
    folder = resources.files("tasks") / "lua"
    return "".join((folder / f"{name}.lua").read_text() for name in names)


def _grant(row: Sequence[Any]) -> Grant:
    entry_id, lane, ownership, starts, size, payload = row
    return Grant(
        entry_id=entry_id.decode(),
        lane=lane.decode(),
        ownership=ownership.decode(),
        starts=int(starts),
        size_bytes=int(size),
        payload=payload,
    )


class Lanes:
    """One worker's view of the stream and its lanes.

    Args:
        redis: from ``connect``; replies must be bytes.
        stream: key of the event stream; the keys of the lanes share its cluster slot.
        worker: unique per process start, without spaces.
        keep_bytes: how much of a payload is handed out; larger ones become dead letters.
    """

    def __init__(self, redis: Redis, *, stream: str, worker: str, keep_bytes: int) -> None:
        self.redis = redis
        self.stream = stream
        self.worker = worker
        self.keep_bytes = keep_bytes
        self._prefix = f"{{{stream}}}:"
        self._heartbeat = redis.register_script(_script("heartbeat"))
        self._read = redis.register_script(_script("prelude", "read"))
        self._finish = redis.register_script(_script("prelude", "finish"))
        self._release = redis.register_script(_script("prelude", "release"))
        self._reap = redis.register_script(_script("prelude", "reap"))
        self._repair = redis.register_script(_script("prelude", "repair"))

    async def prepare(self) -> None:
        """Create the stream and its group if they are not there; entries from before the group count."""
        try:
            await self.redis.xgroup_create(self.stream, GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    async def heartbeat(self, ttl_ms: int) -> None:
        """Say that this worker lives for another ``ttl_ms``; works on a server whose memory is full too."""
        keys = [f"{self._prefix}hb:{self.worker}", f"{self._prefix}workers"]
        await self._heartbeat(keys=keys, args=[self.worker, ttl_ms])

    async def read(self, wanted: int) -> ReadResult:
        """READ: admit new entries and take up to ``wanted`` lane heads."""
        args: list[str | int] = [GROUP, self.worker, wanted, self.keep_bytes, self.keep_bytes]
        rows, entries_read, last = await self._read(keys=[self.stream], args=args)
        return ReadResult(
            grants=tuple(_grant(row) for row in rows), entries_read=int(entries_read), last_id=last.decode()
        )

    async def wait_for_entries(self, last_id: str, block_ms: int) -> None:
        """Return when an entry newer than ``last_id`` is there, or after ``block_ms``."""
        await self.redis.xread({self.stream: last_id}, count=1, block=block_ms)

    async def finish(self, requests: Sequence[FinishRequest]) -> list[Grant | None]:
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

    async def release(self, grants: Sequence[Grant]) -> int:
        """Give lanes back with their entries unfinished; any worker may take them."""
        return await self._give_back([(grant.lane, grant.ownership) for grant in grants])

    async def release_unknown(self, known: frozenset[str]) -> int:
        """Give back lanes that Redis counts as ours under an ownership we do not run: its reply was lost."""
        members = await self.redis.smembers(f"{self._prefix}owned:{self.worker}")
        lanes = [lane.decode() for lane in cast("set[bytes]", members)]
        if not lanes:
            return 0
        ownerships = cast("list[bytes | None]", await self.redis.hmget(f"{self._prefix}owner", lanes))
        owned = ((lane, value.decode()) for lane, value in zip(lanes, ownerships, strict=True) if value)
        return await self._give_back([pair for pair in owned if pair[1] not in known])

    async def _give_back(self, owned: Sequence[tuple[str, str]]) -> int:
        if not owned:
            return 0
        flat = [part for pair in owned for part in pair]
        return int(await self._release(keys=[self.stream], args=[GROUP, self.worker, *flat]))

    async def reap(self, most: int = 500) -> tuple[int, tuple[str, ...]]:
        """Free the lanes of dead workers; how many, and which workers were found dead."""
        freed, dead = await self._reap(keys=[self.stream], args=[GROUP, self.worker, most])
        return int(freed), tuple(worker.decode() for worker in dead)

    async def repair(self, cursor: str, count: int = 200) -> tuple[str, int]:
        """Put one page of old pending entries back into their lanes; the next cursor ('-' at the end)."""
        args: list[str | int] = [GROUP, self.worker, cursor, count, IDLE_BEFORE_REPAIR_MS, self.keep_bytes]
        last, mended = await self._repair(keys=[self.stream], args=args)
        return (f"({last.decode()}" if last else "-"), int(mended)

    async def leave(self) -> None:
        """Give everything back and stop counting as alive: nobody need wait for the heartbeat to expire."""
        await self.release_unknown(frozenset())
        pipe = self.redis.pipeline(transaction=True)
        pipe.delete(f"{self._prefix}hb:{self.worker}")
        pipe.srem(f"{self._prefix}workers", self.worker)
        pipe.sadd(f"{self._prefix}departed", self.worker)
        await pipe.execute()


async def backlog(redis: Redis, stream: str) -> dict[str, int]:
    """The figures of a stream: accepted ever, still there, waiting in lanes, vanished; noughts when new."""
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
