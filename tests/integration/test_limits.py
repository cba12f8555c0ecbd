"""Limits over the whole fleet, on real Redis and with running workers."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from sandbox.server import SandboxHandle
from tasks.limits.rates import FleetRates, SharedRate, rate_of
from tasks.limits.slots import SlotLimit, Slots, slots_key
from tasks.limits.upstream_limits import UpstreamLimits
from tests.support.running import Running, eventually, running
from tests.support.terminal import Shell, shell_at
from worker.adapters.system_clock import SystemClock
from worker.settings.calls import Resource

QUESTION = "When are you open on weekdays?"
HOURS = {"Hours": ["We are open from nine to six on weekdays."]}
NOWHERE = "redis://127.0.0.1:1/0"


def burst(per_minute: int) -> int:
    """Calls that a limit lets pass at once."""
    return rate_of(per_minute).burst


def limit_of(most: int) -> SlotLimit:
    """The limit of an account that is not changed."""

    async def limit() -> int:
        return most

    return limit


def shell_of(engine: Running, folder: Path) -> Shell:
    """A shell with the servers of an engine."""
    return shell_at(folder, DATABASE_URL=engine.url, REDIS_URL=engine.redis_url)


async def test_processes_together_keep_a_limit_and_serve_in_order(redis_url: str) -> None:
    """Three processes take from one rate; what they got never exceeds the burst and the refill."""
    per_minute, taken = 1200, list[tuple[str, int]]()
    async with Redis.from_url(redis_url) as redis:
        processes = [
            SharedRate(FleetRates(redis, prefix="{t}:limit"), "b", per_minute, sleep=asyncio.sleep)
            for _ in range(3)
        ]

        async def call(process: int, number: int) -> None:
            await processes[process].acquire(1)
            taken.append((str(process), number))

        started = time.monotonic()
        await asyncio.gather(*(call(process, number) for number in range(80) for process in range(3)))
        took_s = time.monotonic() - started
        seen = await processes[0].look()

    least_s = (240 - burst(per_minute) - 3 * 6) * 60 / per_minute
    assert took_s >= least_s > 0
    assert 225 <= seen.used <= 240 + 3 * 6  # of a minute that has just begun some seconds are missing
    for process in ("0", "1", "2"):
        order = [number for name, number in taken if name == process]
        assert order == sorted(order)


async def test_what_a_call_did_not_use_is_given_back(redis_url: str) -> None:
    """An estimate is corrected: the next call needs no wait; a call that used more causes one."""
    async with Redis.from_url(redis_url) as redis:
        waited = list[float]()

        async def sleep(seconds: float) -> None:
            waited.append(seconds)
            await asyncio.sleep(seconds)

        rate = SharedRate(FleetRates(redis, prefix="{t}:limit"), "tokens", 6000, sleep=sleep)
        await rate.acquire(1000)
        rate.correct(1000, 100)
        await rate.acquire(800)
        before = list(waited)
        rate.correct(800, 850)
        await rate.acquire(100)

    assert before == []
    assert waited


async def test_a_call_larger_than_the_rate_waits_for_a_full_one(redis_url: str) -> None:
    """It passes, and the next one waits until the debt is paid."""
    async with Redis.from_url(redis_url) as redis:
        rates = FleetRates(redis, prefix="{t}:limit")
        first = await rates.take("large", 60, wanted=30, least=30)
        second = await rates.take("large", 60, wanted=1, least=1)

    assert (first.amount, first.left) == (30, -20)
    assert second.amount == 0
    assert second.wait_s == pytest.approx(21, abs=0.5)


async def test_without_redis_each_process_counts_for_itself() -> None:
    """No call fails or is stopped: the rate of the process has the same size."""
    async with Redis.from_url(NOWHERE) as redis:
        rates = FleetRates(redis, prefix="{t}:limit", now_s=lambda: 100.0)
        found = [await rates.take("b", 60, wanted=1, least=1) for _ in range(burst(60) + 1)]
        slots = Slots(redis, prefix="{t}:limit", worker="w", sleep=asyncio.sleep)
        async with slots.slot("shop", limit_of(1), 5.0), slots.slot("shop", limit_of(1), 5.0):
            pass

    assert [each.amount for each in found] == [1] * burst(60) + [0]
    assert found[-1].wait_s == pytest.approx(1.0)


async def test_slots_of_a_dead_worker_are_free_again(redis_url: str) -> None:
    """A lease that is not renewed ends; a living worker renews its own."""
    async with Redis.from_url(redis_url) as redis:
        prefix, key = "{t}:limit", slots_key("{t}:limit", "shop")
        slots = Slots(redis, prefix=prefix, worker="living", sleep=asyncio.sleep)
        await redis.zadd(key, {"dead:1": 1.0})  # its lease ended long ago
        async with slots.slot("shop", limit_of(1), 5.0):
            held = await redis.zrange(key, 0, -1)
        freed = await redis.zcard(key)

    assert (held, freed) == ([b"living:1"], 0)


async def soonest_end(redis: Redis, key: str) -> float:
    """The end of the lease that ends first."""
    found: Any = await redis.zrange(key, 0, 0, withscores=True)
    return float(found[0][1])


async def test_all_leases_are_renewed_in_one_call(redis_url: str) -> None:
    """A worker that decides 300 events of one account renews their slots in one round trip, not in 300."""
    async with Redis.from_url(redis_url) as redis, AsyncExitStack() as stack:
        slots, key = (
            Slots(redis, prefix="{t}:limit", worker="w", sleep=asyncio.sleep),
            slots_key("{t}:limit", "s"),
        )
        for _ in range(300):
            await stack.enter_async_context(slots.slot("s", limit_of(300), 5.0))
        await slots.renew()  # the script is loaded
        before = (await redis.info("commandstats"))["cmdstat_evalsha"]["calls"]
        soonest = await soonest_end(redis, key)
        await slots.renew()
        calls = (await redis.info("commandstats"))["cmdstat_evalsha"]["calls"] - before
        renewed = await soonest_end(redis, key)

    assert calls == 1
    assert renewed > soonest


async def test_a_lease_that_has_ended_is_not_renewed(redis_url: str) -> None:
    """Its slot may belong to another event by now."""
    async with Redis.from_url(redis_url) as redis:
        slots, key = (
            Slots(redis, prefix="{t}:limit", worker="w", sleep=asyncio.sleep),
            slots_key("{t}:limit", "e"),
        )
        async with slots.slot("e", limit_of(1), 5.0):
            await redis.zadd(key, {"w:1": 1.0})
            await slots.renew()
            ended = await redis.zscore(key, "w:1")

    assert ended == 1.0


async def test_calls_that_were_not_made_use_up_no_limit(redis_url: str) -> None:
    """Requests and tokens of calls without a place are free again, also after a long wait for it."""
    waited, now_s = list[float](), 100.0

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        await asyncio.sleep(seconds)

    async with Redis.from_url(redis_url) as redis:
        rates = FleetRates(redis, prefix="{t}:limit")
        made = {
            resource: SharedRate(rates, f"unsent:{resource}", 60, sleep=sleep, now_s=lambda: now_s)
            for resource in Resource
        }
        limits = UpstreamLimits(SystemClock(), made, longest_pause_s=1.0)
        for _ in range(10):
            await limits.wait(1)
            now_s += 6.0
            limits.not_sent(1)
        await asyncio.gather(*(limits.wait(1) for _ in range(burst(60) - 2)))

    assert waited == []
    assert limits.used[Resource.REQUESTS].last_minute == burst(60) - 2


async def test_a_wait_for_tokens_that_ends_early_gives_its_request_back(redis_url: str) -> None:
    """An event that became too late while it waited for tokens has used no request."""
    async with Redis.from_url(redis_url) as redis:
        rates = FleetRates(redis, prefix="{t}:limit")
        made = {each: SharedRate(rates, f"early:{each}", 60, sleep=asyncio.sleep) for each in Resource}
        limits = UpstreamLimits(SystemClock(), made, longest_pause_s=1.0)
        await limits.wait(600)
        for _ in range(burst(60)):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await limits.wait(600)
        async with asyncio.timeout(0.5):
            await made[Resource.REQUESTS].acquire(1)


async def test_a_released_slot_serves_another_event_and_is_awaited_again(redis_url: str) -> None:
    """A pause of one event, such as a hold, keeps no slot; after it the event has one again."""
    async with Redis.from_url(redis_url) as redis:
        slots = Slots(redis, prefix="{t}:limit", worker="w", sleep=asyncio.sleep)
        key, ended = slots_key("{t}:limit", "shop"), list[str]()

        async def pausing() -> None:
            async with slots.slot("shop", limit_of(1), 20.0) as first:
                async with first.released():
                    taken.set()
                    await other_has_it.wait()
                ended.append("first")

        taken, other_has_it = asyncio.Event(), asyncio.Event()
        first = asyncio.create_task(pausing())
        await taken.wait()
        async with slots.slot("shop", limit_of(1), 20.0):
            other_has_it.set()
            await asyncio.wait({first}, timeout=0.1)
            held = await redis.zrange(key, 0, -1)
            ended.append("second")
        await first

        assert (ended, held) == (["second", "first"], [b"w:2"])
        assert await redis.zcard(key) == 0


def checked_texts(engine: Running) -> int:
    """Texts that moderation was asked about; requests share several."""
    inputs = [each["body"]["input"] for each in engine.sandbox.requests(route="moderations")]  # type: ignore[index]
    return sum(1 if isinstance(each, str) else len(each) for each in inputs)


def test_a_refusal_with_retry_after_pauses_all_calls_and_fails_none(engine: Running) -> None:
    """One call is refused; those that come meanwhile wait, without a call, and the breaker stays closed."""
    user_id = engine.account(documents=HOURS)
    engine.sandbox.add_rule("chat", "429", retry_after_s=3.0, times=1)
    first = engine.publish(user_id, QUESTION)
    eventually(lambda: engine.redis.keys("{hushgate:events}:limit:pause:*"), "the pause, for all workers")
    others = [engine.publish(user_id, f"{QUESTION}{'!' * number}") for number in range(1, 6)]
    held = eventually(lambda: checked_texts(engine) >= 6, "the others behind moderation")
    meanwhile = engine.sandbox.calls("chat")
    rows = [engine.decided(user_id, each) for each in (first, *others)]
    attempts = [
        [each["outcome"] for each in row["snapshot_json"]["attempts"] if each["stage"] == "generation"]
        for row in rows
    ]

    assert (held, meanwhile) == (True, 1)
    assert {row["reason_code"] for row in rows} == {"REPLIED"}
    assert attempts == [["rate_limited", "completed"], *([["completed"]] * 5)]


def test_an_account_beyond_its_limit_waits_and_then_is_answered(engine: Running, tmp_path: Path) -> None:
    """Calls beyond the burst wait for the refill; another account does not; the figures are shown."""
    limited = engine.account(documents=HOURS, requests_per_min=60)
    free = engine.account(documents=HOURS)
    started = time.monotonic()
    events = [engine.publish(limited, QUESTION) for _ in range(burst(60) + 2)]
    engine.decide(free, QUESTION)
    free_s = time.monotonic() - started
    rows = [engine.decided(limited, each) for each in events]
    took_s = time.monotonic() - started
    (reported,) = shell_of(engine, tmp_path).run("limits", "--account", limited).rows

    assert {row["reason_code"] for row in rows} == {"REPLIED"}
    assert took_s >= 1.0
    assert free_s < took_s
    assert (reported["limit"], reported["most"]) == ("requests_per_min", 60)
    assert burst(60) <= reported["used"] <= 2 * (burst(60) + 2)  # a draft and its reading for each
    assert reported["lasts_s"] > 0


def test_no_event_waits_for_a_limit_beyond_its_deadline(engine: Running) -> None:
    """It ends as too late, without a call and not as a failure of the model."""
    user_id = engine.account(documents=HOURS, requests_per_min=1, reply_max_age_s=1.2)
    engine.decide(user_id, QUESTION)
    late = engine.decide(user_id, QUESTION)

    assert (late["reason_code"], late["degraded"]) == ("TOO_LATE", False)
    assert engine.sandbox.calls("chat") == 1
    assert [each["outcome"] for each in late["snapshot_json"]["attempts"]] == ["limited"]


def test_two_workers_decide_at_most_so_many_events_of_an_account_at_once(
    engine: Running, database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Others wait for a slot; a slot is freed for the other worker too."""
    user_id = engine.account(documents=HOURS, concurrent_events=2)
    key, seen = slots_key("{hushgate:events}:limit", user_id), list[int]()
    with running(database_url, redis_url, sandbox) as other:
        events = [engine.publish(user_id, f"{QUESTION} [[sandbox:chat=delay=0.2]]") for _ in range(8)]
        query = "SELECT count(*) AS found FROM ai_decisions WHERE user_id = %s"

        def all_decided() -> bool:
            seen.append(engine.redis.zcard(key))
            return bool((other.row(query, user_id) or {})["found"] == len(events))

        eventually(all_decided, "all decisions")

    assert max(seen) == 2
    assert engine.redis.zcard(key) == 0


def test_a_fleet_keeps_the_limit_of_an_upstream(
    database_url: str, redis_url: str, sandbox: SandboxHandle, tmp_path: Path
) -> None:
    """Two workers share one limit; nothing fails, and the model is asked no more often than it allows."""
    limits = '{"model": {"requests": 240}}'
    with (
        running(database_url, redis_url, sandbox, HUSHGATE_LIMITS=limits) as one,
        running(database_url, redis_url, sandbox, HUSHGATE_LIMITS=limits),
    ):
        user_id = one.account(documents=HOURS)
        started = time.monotonic()
        events = [one.publish(user_id, QUESTION) for _ in range(burst(240) + 4)]
        rows = [one.decided(user_id, each) for each in events]
        took_s = time.monotonic() - started
        shell = shell_of(one, tmp_path)
        (reported,) = eventually(
            lambda: [
                row
                for row in shell.run("limits").rows
                if row["per_minute"] and row["resource"] == "requests" and row["used"] >= len(events) - 2
            ],
            "the report of both workers",
        )

    assert {row["reason_code"] for row in rows} == {"REPLIED"}
    assert took_s >= 2 * 60 / 240 * 0.9
    assert reported["upstreams"] == "judge, model"
    assert "account" not in reported
    assert 0 < reported["left"] < 240
    assert reported["lasts_s"] > 0
