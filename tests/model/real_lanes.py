"""The scripts on a real server as the model sees them: performs a step, and reads the state back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import NamedTuple

from redis.asyncio import Redis

from tasks.fairness.shares import ReadPlan
from tasks.lanes.stream import EntryGrant, FinishRequest, Lanes
from tasks.shards.layout import lane_of
from tests.model.kinds import Kind, Step
from tests.model.states import State, Worker

STREAM = "model:events"
KEYS = f"{{{STREAM}}}:"
TTL_MS = 600_000
ACCOUNTS = (("shop", "shop"), ("shop", "other"))
"""The accounts of the two conversations: one for both, or one each."""


class Seen(NamedTuple):
    """What Redis holds: of each lane stream, entries, queued heads and owner; unread entries; heartbeats."""

    lanes: tuple[tuple[int, int, int, int | None], ...]
    unread: tuple[int, ...]
    workers: tuple[tuple[bool, bool], ...]


def seen(state: State) -> Seen:
    """What Redis must hold in a state of the model."""
    lanes = [
        (lane.stream, lane.waiting, lane.queued, next(iter(state.owners(at)), None))
        for at, lane in enumerate(state.lanes)
    ]
    return Seen(tuple(lanes), state.unread, tuple(map(_signs, state.workers)))


def _signs(worker: Worker) -> tuple[bool, bool]:
    return worker.beats, worker.known


class RealLanes:
    """Two conversations and some workers on an empty server."""

    def __init__(self, redis: Redis, workers: int, accounts: tuple[str, str]) -> None:
        self._redis = redis
        self._started = 0
        self._accounts = accounts
        self._names = [lane_of(account, f"c{at}") for at, account in enumerate(accounts)]
        self._entries: tuple[list[str], list[str]] = ([], [])
        self._granted: dict[tuple[int, int], list[EntryGrant]] = {}
        self._runs: dict[tuple[int, int], EntryGrant] = {}
        self._workers = [self._new_worker() for _ in range(workers)]

    def _new_worker(self) -> Lanes:
        self._started += 1
        return Lanes(self._redis, stream=STREAM, worker=f"w{self._started}", keep_bytes=4096)

    async def start(self) -> None:
        """Prepare the stream; a missing heartbeat means a dead worker from now on."""
        await self._redis.flushall()
        await self._workers[0].prepare()
        await self._redis.set(f"{KEYS}reap_from", 0, px=TTL_MS)
        for worker in self._workers:
            await worker.heartbeat(TTL_MS)

    async def perform(self, step: Step) -> None:
        """Do on the server what the step names; steps of Postgres and of processes change nothing there."""
        worker = self._workers[step.worker]
        key = (step.worker, step.lane)
        match step.kind:
            case Kind.PUBLISH:
                await self._publish(step.lane)
            case Kind.READ:
                wanted, ahead = step.detail
                result = await worker.read(wanted, ReadPlan(batch=ahead, most_admitted=99))
                for grant in result.grants:
                    self._grant(step.worker, grant)
            case Kind.FINISH | Kind.FINISH_END | Kind.FINISH_LOST:
                await self._finish(
                    key, keep=step.kind is not Kind.FINISH_END, lost=step.kind is Kind.FINISH_LOST
                )
            case Kind.FINISH_LATE:
                await self._finish_late(key)
            case Kind.STALE_FINISH:
                await self._finish_stale(step.lane, step.detail[0])
            case Kind.RELEASE:
                assert await worker.release([self._runs.pop(key)]) == 1
            case _:
                await self._upkeep(step)

    async def _upkeep(self, step: Step) -> None:
        worker = self._workers[step.worker]
        match step.kind:
            case Kind.AUDIT:
                runs = (grant for (number, _), grant in self._runs.items() if number == step.worker)
                await worker.release_unknown(frozenset(grant.ownership for grant in runs))
            case Kind.REAP:
                await worker.reap()
            case Kind.REPAIR:
                await worker.repair("-")
            case Kind.HEARTBEAT:
                await worker.heartbeat(TTL_MS)
            case Kind.EXPIRE:
                await self._redis.delete(f"{KEYS}hb:{worker.worker}")
            case Kind.RESTART:
                self._workers[step.worker] = self._new_worker()
                await self._workers[step.worker].heartbeat(TTL_MS)
            case Kind.CRASH | Kind.FORGET:
                for at in range(2) if step.kind is Kind.CRASH else (step.lane,):
                    self._runs.pop((step.worker, at), None)

    async def _publish(self, at: int) -> None:
        body = {"user_id": self._accounts[at], "conversation_id": f"c{at}"}
        entry = await self._redis.xadd(STREAM, {"data": json.dumps(body)})
        assert isinstance(entry, bytes)
        self._entries[at].append(entry.decode())

    def _grant(self, number: int, grant: EntryGrant) -> None:
        at = self._names.index(grant.lane)
        self._runs[number, at] = grant
        self._granted.setdefault((at, self._entries[at].index(grant.entry_id)), []).append(grant)

    async def _finish(self, key: tuple[int, int], *, keep: bool, lost: bool) -> None:
        grant = self._runs[key]
        (following,) = await self._workers[key[0]].finish([FinishRequest(grant=grant, keep=keep)])
        if following is None:
            del self._runs[key]
        elif not lost:
            self._grant(key[0], following)

    async def _finish_late(self, key: tuple[int, int]) -> None:
        """The FINISH of an entry before, which another copy of it finished."""
        grant = self._runs.pop(key)
        late = replace(grant, entry_id=self._entries[key[1]][0])
        assert await self._workers[key[0]].finish([FinishRequest(grant=late, keep=False)]) == [None]

    async def _finish_stale(self, at: int, entry: int) -> None:
        current = await self._redis.hget(f"{KEYS}owner", self._names[at])
        stale = [grant for grant in self._granted[at, entry] if grant.ownership.encode() != current]
        assert await self._workers[0].finish([FinishRequest(grant=stale[0], keep=True)]) == [None]

    def run_of(self, number: int, at: int) -> int | None:
        """The entry that a worker was granted last and did not give back."""
        grant = self._runs.get((number, at))
        return None if grant is None else self._entries[at].index(grant.entry_id)

    def forget_lost_runs(self, state: State) -> None:
        """Runs whose ownership ended go on as stale runs."""
        for number, at in list(self._runs):
            if not state.workers[number].holds[at]:
                del self._runs[number, at]

    async def look(self) -> Seen:
        """What the server holds."""
        pipe = self._redis.pipeline(transaction=False)
        pipe.xrange(STREAM)
        pipe.xinfo_groups(STREAM)
        pipe.zrange(f"{KEYS}queue", 0, -1)
        for name in self._names:
            pipe.zrange(f"{KEYS}lane:{name}", 0, -1)
            pipe.hget(f"{KEYS}owner", name)
        for worker in self._workers:
            pipe.exists(f"{KEYS}hb:{worker.worker}")
            pipe.sismember(f"{KEYS}workers", worker.worker)
        rows, groups, queue, *rest = await pipe.execute()
        in_stream = [row[0].decode() for row in rows]
        last = _padded(groups[0]["last-delivered-id"].decode())
        unread = tuple(self._lane_of(each) for each in in_stream if _padded(each) > last)
        lanes = tuple(
            (self._mask(at, in_stream), self._mask(at, rest[2 * at]), self._heads(at, queue),
             self._owner(rest[2 * at + 1]))
            for at in range(2)
        )  # fmt: skip
        signs = rest[4:]
        workers = tuple((bool(signs[at]), bool(signs[at + 1])) for at in range(0, len(signs), 2))
        return Seen(lanes, unread, workers)

    def _lane_of(self, entry: str) -> int:
        return 0 if entry in self._entries[0] else 1

    def _mask(self, at: int, entries: list[bytes] | list[str]) -> int:
        found = {_padded(each.decode() if isinstance(each, bytes) else each) for each in entries}
        return sum(1 << number for number, each in enumerate(self._entries[at]) if _padded(each) in found)

    def _heads(self, at: int, queue: list[bytes]) -> int:
        parts = [member.decode().split(":", 2) for member in queue]
        return self._mask(at, [head for _, head, lane in parts if lane == self._names[at]])

    def _owner(self, value: bytes | None) -> int | None:
        if value is None:
            return None
        name = value.decode().split(" ")[0]
        return next(number for number, worker in enumerate(self._workers) if worker.worker == name)


def _padded(entry: str) -> str:
    ms, _, number = entry.partition("-")
    return f"{ms:0>20}-{number:0>20}"
