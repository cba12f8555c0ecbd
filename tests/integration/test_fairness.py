"""Places shared by account, on a real server: what READ and FINISH grant, and that no lane is lost."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from typing import Final, cast

import orjson
import pytest
from redis.asyncio import Redis

from tasks.fairness.shares import ReadPlan, account_key
from tasks.lanes import stream
from tasks.lanes.stream import GROUP, EntryGrant, FinishRequest, Lanes
from tasks.shards.backlog import backlog
from tests.support.samples import body_of

STREAM: Final = "test:events"
KEYS: Final = f"{{{STREAM}}}:"
AHEAD: Final = ReadPlan(batch=500, most_admitted=10_000)
NewWorker = Callable[[str], Awaitable[Lanes]]


@pytest.fixture
def worker(redis: Redis) -> NewWorker:
    """Makes workers that have a heartbeat."""

    async def make(name: str) -> Lanes:
        lanes = Lanes(redis, stream=STREAM, worker=name, keep_bytes=4096)
        await lanes.prepare()
        await lanes.heartbeat(60_000)
        return lanes

    return make


async def publish(redis: Redis, account: str, *conversations: str) -> list[str]:
    """Append one event per conversation; their entry ids."""
    bodies = [{"user_id": account, "conversation_id": f"{account}-{each}"} for each in conversations]
    ids = [await redis.xadd(STREAM, {"data": orjson.dumps(body)}) for body in bodies]
    return [cast("bytes", each).decode() for each in ids]


def numbered(count: int) -> list[str]:
    """Names of conversations."""
    return [str(number) for number in range(count)]


def account_of(grant: EntryGrant) -> str:
    """Whose event was granted."""
    return str(orjson.loads(grant.payload)["user_id"])


async def accounts_of(lanes: Lanes, limit: int, plan: ReadPlan = AHEAD) -> list[str]:
    """The accounts of what READ grants, in order."""
    return [account_of(grant) for grant in (await lanes.read(limit, plan)).grants]


async def finish(lanes: Lanes, grant: EntryGrant) -> EntryGrant | None:
    """FINISH one entry and ask for the next one."""
    return (await lanes.finish([FinishRequest(grant=grant, keep=True)]))[0]


async def test_an_account_with_one_event_does_not_wait_behind_another_s_burst(
    redis: Redis, worker: NewWorker
) -> None:
    """READ looks beyond the free places, and the account that runs fewer lanes comes first."""
    lanes = await worker("a")
    await publish(redis, "heavy", *numbered(300))
    before = await accounts_of(lanes, 4)
    await publish(redis, "light", "0")
    after = await accounts_of(lanes, 2)

    assert before == ["heavy"] * 4
    assert after == ["light", "heavy"]


async def test_places_are_shared_evenly_by_accounts_over_the_whole_fleet(
    redis: Redis, worker: NewWorker
) -> None:
    """What other workers run counts; accounts with as many lanes take turns."""
    a, b = await worker("a"), await worker("b")
    await publish(redis, "x", *numbered(50))
    await a.read(6, AHEAD)
    await publish(redis, "y", *numbered(50))
    await publish(redis, "z", *numbered(50))
    second = Counter(await accounts_of(b, 12))
    third = await accounts_of(a, 6)

    assert second == {"y": 6, "z": 6}
    assert Counter(third) == {"x": 2, "y": 2, "z": 2}
    assert sorted(third[:3]) == sorted(third[3:]) == ["x", "y", "z"]


async def test_with_one_place_accounts_take_turns(redis: Redis, worker: NewWorker) -> None:
    """An account that came later is not behind the whole backlog of an earlier one."""
    lanes = await worker("a")
    await publish(redis, "x", *numbered(3))
    await publish(redis, "y", *numbered(3))
    order = []
    while grants := (await lanes.read(1, AHEAD)).grants:
        order.append(account_of(grants[0]))
        assert await finish(lanes, grants[0]) is None

    assert order == ["x", "y"] * 3


async def test_the_lanes_of_one_account_run_in_the_order_of_their_heads(
    redis: Redis, worker: NewWorker
) -> None:
    """A deep lane gives its place to an older entry of another lane, and keeps it before newer ones."""
    lanes = await worker("a")
    ids = await publish(redis, "x", "deep", "deep", "other", "deep", "late")
    (grant,) = (await lanes.read(1, AHEAD)).grants
    order, following = [grant.entry_id], await finish(lanes, grant)
    assert following is not None
    order.append(following.entry_id)
    assert await finish(lanes, following) is None
    while grants := (await lanes.read(1, AHEAD)).grants:
        order.append(grants[0].entry_id)
        assert await finish(lanes, grants[0]) is None

    assert order == ids


async def test_a_deep_lane_gives_its_place_to_an_account_that_runs_fewer(
    redis: Redis, worker: NewWorker
) -> None:
    """A FINISH that is repeated after that changes nothing."""
    lanes = await worker("a")
    await publish(redis, "heavy", "c", "c", "c")
    (grant,) = (await lanes.read(1, AHEAD)).grants
    await publish(redis, "light", "0")
    assert not (await lanes.read(0, AHEAD)).grants
    given_up = await finish(lanes, grant), await finish(lanes, grant)

    assert given_up == (None, None)
    assert await accounts_of(lanes, 2) == ["light", "heavy"]


async def test_places_kept_free_go_to_accounts_with_few_lanes(redis: Redis, worker: NewWorker) -> None:
    """An account that runs as many lanes as the limit gets only shared places."""
    lanes = await worker("a")
    await publish(redis, "heavy", *numbered(10))
    await lanes.read(3, AHEAD)
    await publish(redis, "light", *numbered(10))
    kept = ReadPlan(batch=500, most_admitted=10_000, shared=0, few=2)

    assert await accounts_of(lanes, 5, kept) == ["light"] * 2
    assert await accounts_of(lanes, 5, kept) == []
    assert len(await accounts_of(lanes, 5)) == 5


async def test_a_limited_account_is_passed_over(redis: Redis, worker: NewWorker) -> None:
    """It gets a grant only while it runs fewer lanes than its limit; the others are not delayed by it."""
    lanes = await worker("a")
    await publish(redis, "held", *numbered(5))
    await publish(redis, "other", *numbered(9))
    limited = ReadPlan(batch=500, most_admitted=10_000, limited=((account_key("held"), 2),))
    first, second = [Counter(await accounts_of(lanes, 6, limited)) for _ in range(2)]
    direct = await worker("b")

    assert (first, second) == ({"held": 2, "other": 4}, {"other": 5})
    assert await accounts_of(direct, 9, ReadPlan(limited=limited.limited)) == []
    assert await accounts_of(direct, 9, ReadPlan()) == ["held"] * 3


async def test_reading_ahead_ends_at_its_limit(redis: Redis, worker: NewWorker) -> None:
    """Beyond it the stream holds the rest, and what is free is still used."""
    lanes = await worker("a")
    await publish(redis, "x", *numbered(40))

    async def pending() -> int:
        return int((await redis.xpending(STREAM, GROUP))["pending"])

    plan = ReadPlan(batch=15, most_admitted=20)
    read = [((await lanes.read(0, plan)).entries_read, await pending()) for _ in range(3)]
    figures = await backlog(redis, STREAM)

    assert read == [(15, 15), (5, 20), (0, 20)]
    assert figures["ready_lanes"] == 20
    assert len((await lanes.read(30, plan)).grants) == 30
    assert await pending() == 30


@pytest.mark.parametrize("account", ["plain", "häßlich 雪 😀", "", "x" * 10_000])
async def test_both_sides_name_an_account_alike(redis: Redis, worker: NewWorker, account: str) -> None:
    """A limit that a worker sends must reach the account."""
    lanes = Lanes(redis, stream=STREAM, worker="a", keep_bytes=1_000_000)
    await lanes.prepare()
    await lanes.heartbeat(60_000)
    await publish(redis, account, "c")

    limited = ReadPlan(batch=500, most_admitted=10_000, limited=((account_key(account), 0),))

    assert await accounts_of(lanes, 1, limited) == []
    assert len((await lanes.read(1)).grants) == 1


async def test_entries_that_name_no_account_share_one_turn(redis: Redis, worker: NewWorker) -> None:
    """A flood of broken payloads does not delay the accounts."""
    lanes = await worker("a")
    for _ in range(50):
        await redis.xadd(STREAM, {"data": b"{bad"})
    await lanes.read(3, AHEAD)
    await publish(redis, "light", "0")
    (grant,) = (await lanes.read(1, AHEAD)).grants

    assert account_of(grant) == "light"


async def test_a_person_s_message_is_named_while_its_lane_waits_for_a_place(
    redis: Redis, worker: NewWorker
) -> None:
    """With no place free, a takeover need not wait for one."""
    lanes = await worker("a")
    body = body_of("e", user_id="x", conversation_id="c", type="agent_message")
    entry = cast("bytes", await redis.xadd(STREAM, {"data": orjson.dumps(body)})).decode()

    assert [each.entry_id for each in (await lanes.read(0, AHEAD)).agent_messages] == [entry]


async def test_a_person_s_message_is_named_while_its_account_has_no_place(
    redis: Redis, worker: NewWorker
) -> None:
    """Alone in its lane, and granted at once but for the limit of its account."""
    lanes = await worker("a")
    body = body_of("e", user_id="x", conversation_id="c", type="agent_message")
    entry = cast("bytes", await redis.xadd(STREAM, {"data": orjson.dumps(body)})).decode()
    result = await lanes.read(5, ReadPlan(limited=((account_key("x"), 0),)))

    assert result.grants == ()
    assert [each.entry_id for each in result.agent_messages] == [entry]


async def broken_invariants(redis: Redis) -> list[str]:
    """What does not hold between the keys of the lanes."""
    owner = cast("dict[bytes, bytes]", await redis.hgetall(f"{KEYS}owner"))
    place = cast("dict[bytes, bytes]", await redis.hgetall(f"{KEYS}place"))
    running = cast("dict[bytes, bytes]", await redis.hgetall(f"{KEYS}running"))
    queue = cast("list[bytes]", await redis.zrange(f"{KEYS}queue", 0, -1))
    waiting = cast("list[tuple[bytes, float]]", await redis.zrange(f"{KEYS}waiting", 0, -1, withscores=True))
    lanes = {key[len(KEYS) + 5 :] for key in cast("list[bytes]", await redis.keys(f"{KEYS}lane:*"))}
    queued = {member.split(b":")[2] for member in queue}
    counts = Counter(place.values())
    found = []
    if lost := lanes - owner.keys() - queued:
        found.append(f"lanes without owner and queue: {lost}")
    if place.keys() != owner.keys():
        found.append(f"places {set(place) ^ set(owner)}")
    if counts != {account: int(count) for account, count in running.items()}:
        found.append(f"running {running}, counted {counts}")
    if {member.split(b":")[0] for member in queue} - {account for account, _ in waiting}:
        found.append("an account with queued lanes does not wait")
    if wrong := [account for account, score in waiting if int(score) >> 32 != counts[account]]:
        found.append(f"scores of {wrong}")
    return found


class Walk:
    """Workers that do random things to one stream, and what each conversation saw."""

    def __init__(self, redis: Redis, make: Callable[[str], Awaitable[Lanes]], seed: int) -> None:
        self.redis = redis
        self.make = make
        self.rng = random.Random(seed)
        self.workers: list[Lanes] = []
        self.held: dict[str, dict[str, EntryGrant]] = {}
        self.published: dict[str, list[str]] = defaultdict(list)
        self.done: dict[str, list[str]] = defaultdict(list)
        self.started = 0

    async def start(self) -> None:
        """Add a worker."""
        self.started += 1
        lanes = await self.make(f"w{self.started}")
        self.workers.append(lanes)
        self.held[lanes.worker] = {}

    async def step(self) -> None:
        """One random thing."""
        lanes = self.rng.choice(self.workers)
        draw = self.rng.random()
        if draw < 0.3:
            await self._publish()
        elif draw < 0.6:
            plan = ReadPlan(batch=self.rng.choice((0, 3, 20)), most_admitted=40, shared=self.rng.randrange(9))
            self._took(lanes, (await lanes.read(self.rng.randrange(6), plan)).grants)
        elif draw < 0.92:
            await self._finish(lanes)
        elif draw < 0.95 and self.held[lanes.worker]:
            grant = self.held[lanes.worker].pop(self.rng.choice(list(self.held[lanes.worker])))
            await lanes.release([grant])
        elif draw < 0.97:
            await lanes.repair("-")
        else:
            await self._kill(lanes)

    async def _publish(self) -> None:
        account, conversation = f"u{int(5 * self.rng.random() ** 3)}", str(self.rng.randrange(4))
        self.published[f"{account}-{conversation}"] += await publish(self.redis, account, conversation)

    def _took(self, lanes: Lanes, grants: tuple[EntryGrant, ...]) -> None:
        for grant in grants:
            assert not any(grant.lane in each for each in self.held.values()), "two owners of a lane"
            self.held[lanes.worker][grant.lane] = grant

    async def _finish(self, lanes: Lanes) -> None:
        if not self.held[lanes.worker]:
            return
        grant = self.held[lanes.worker].pop(self.rng.choice(list(self.held[lanes.worker])))
        self.done[orjson.loads(grant.payload)["conversation_id"]].append(grant.entry_id)
        request = FinishRequest(grant=grant, keep=self.rng.random() < 0.8)
        if (following := (await lanes.finish([request]))[0]) is not None:
            self._took(lanes, (following,))

    async def _kill(self, lanes: Lanes) -> None:
        self.workers.remove(lanes)
        await self.start()
        await self.redis.delete(f"{KEYS}hb:{lanes.worker}")
        await self.redis.set(f"{KEYS}reap_from", 0, px=60_000)
        del self.held[lanes.worker]
        await self.rng.choice(self.workers).reap()

    async def drain(self) -> None:
        """Run everything that is left."""
        for _ in range(10_000):
            if not await self.redis.xlen(STREAM):
                return
            for lanes in self.workers:
                self._took(lanes, (await lanes.read(5, AHEAD)).grants)
                await self._finish(lanes)
            await self.workers[0].repair("-")
        raise AssertionError(f"{await self.redis.xlen(STREAM)} entries never run")


@pytest.mark.parametrize("seed", range(6))
async def test_random_work_with_kills_keeps_order_and_every_count(
    redis: Redis, worker: NewWorker, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many accounts, three workers: one owner a lane, order in each conversation, and counts that agree."""
    monkeypatch.setattr(stream, "IDLE_BEFORE_REPAIR_MS", 0)
    walk = Walk(redis, worker, seed)
    for _ in range(3):
        await walk.start()
    for _ in range(300):
        await walk.step()
        assert await broken_invariants(redis) == []
    await walk.drain()

    assert walk.done == walk.published
    left = {key.decode().removeprefix(KEYS) for key in cast("list[bytes]", await redis.keys("*"))}
    assert not left & {"queue", "waiting", "running", "place", "owner", "starts"}
