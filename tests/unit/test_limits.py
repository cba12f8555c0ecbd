"""Limits of accounts and vendors: what is learned from headers, and which waits leave their places."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Self, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from tasks.limits.account_limits import LimitWaits
from tasks.limits.fleet_limits import FleetLimits
from tasks.limits.quotas import MinuteCount, QuotaReport, summed
from tasks.limits.upstream_limits import UpstreamLimits, pause_s, quotas
from tasks.limits.upstream_reports import UpstreamReport, WorkerReport, problems
from tests.support.samples import event
from worker.adapters.call_guard import Upstream
from worker.adapters.server_waits import retry_after_s
from worker.adapters.system_clock import SystemClock
from worker.errors import ConfigurationError
from worker.model import AttemptOutcome
from worker.moderation_holds import Holds
from worker.settings import Settings, load
from worker.settings.calls import CallSettings, Resource, UpstreamKind
from worker.supervisor import Supervisor


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360.0),
        ("120ms", 0.12),
        ("1.5", 1.5),
        ("7.66s", 7.66),
        ("1h2m3s", 3723.0),
        ("1764000000000", None),
        (" 120 ", 120.0),
        ("Sun, 22 Nov 2026 12:10:00 GMT", 600.0),
        ("Sun, 22 Nov 2026 11:00:00 GMT", 0.0),
        ("Mon, 99 Foo 2026 99:99:99", None),
        ("Fri, 31 Dec 99999999999999999999 23:59:59 GMT", None),
        ("99999999999999999999", None),
        ("soon", None),
        ("-1", None),
        ("nan", None),
        ("", None),
        (None, None),
    ],
)
def test_the_waits_of_servers_are_read(text: str | None, seconds: float | None) -> None:
    """OpenAI writes 6m0s, others plain seconds or a date; a time of the day is not a span."""
    now_s = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()
    assert retry_after_s(text, now_s) == (None if seconds is None else pytest.approx(seconds))


@given(st.text(max_size=30))
def test_no_header_raises(text: str) -> None:
    """Whatever a server writes."""
    names = ("remaining", "limit", "reset")
    headers = {f"x-ratelimit-{name}-{resource}": text for name in names for resource in Resource}

    assert pause_s({**headers, "retry-after": text}, 429) >= 0
    assert len(quotas(headers)) in {0, 2}


@pytest.mark.parametrize(
    ("headers", "status", "seconds"),
    [
        ({"retry-after": "2"}, 429, 2.0),
        ({"retry-after-ms": "150", "retry-after": "9"}, 429, 0.15),
        ({"retry-after": "2"}, 200, 0.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}, 200, 1.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 429, 360.0),
        ({"x-ratelimit-remaining-tokens": "1", "x-ratelimit-reset-tokens": "6m0s"}, 200, 0.0),
        ({"retry-after": "9999999"}, 429, 86_400.0),
        ({}, 429, 0.0),
    ],
)
def test_a_pause_is_learned_from_a_refusal_or_a_spent_quota(
    headers: dict[str, str], status: int, seconds: float
) -> None:
    """Other answers ask for none."""
    assert pause_s(headers, status) == pytest.approx(seconds)


def test_a_minute_is_counted_without_a_list_of_calls() -> None:
    """The part of the minute before that is not over counts."""
    now_s = [60.0]
    counted = MinuteCount(lambda: now_s[0])
    counted.add(10)
    seen = []
    for now_s[0] in (119.0, 120.0, 150.0, 179.0, 300.0):
        seen.append(counted.last_minute)

    assert seen == [10, 10, 5, 0, 0]


def test_quotas_of_all_workers_are_summed() -> None:
    """What is left is the lowest figure; how long it lasts follows from what all used."""
    one = QuotaReport(
        account="a",
        upstreams="model",
        resource="requests",
        per_minute=500,
        used=60,
        left=300,
        waiting=1,
        paused_s=0.0,
    )
    (found,) = summed([one, replace(one, used=40, left=200, paused_s=3.0)])

    assert (found.used, found.left, found.waiting, found.paused_s) == (100, 200, 2, 3.0)
    assert found.lasts_s == pytest.approx(120.0)


def test_limits_and_places_are_declared_by_kind_of_upstream() -> None:
    """A wrong name or number is reported with its variable."""
    found = load(
        CallSettings, {"HUSHGATE_LIMITS": '{"model": {"requests": 500}}', "HUSHGATE_CONCURRENT_CALLS": "{}"}
    )
    with pytest.raises(ConfigurationError, match="HUSHGATE_LIMITS"):
        load(CallSettings, {"HUSHGATE_LIMITS": '{"modell": {"requests": 500}}'})
    with pytest.raises(ConfigurationError, match="HUSHGATE_CONCURRENT_CALLS"):
        load(CallSettings, {"HUSHGATE_CONCURRENT_CALLS": '{"judge": 0}'})

    assert list(found.limits[UpstreamKind.MODEL].by_resource()) == [(Resource.REQUESTS, 500)]


def waits_of(holds: Holds, entry: str, *, has_called: bool = False) -> LimitWaits:
    """The waits of one event of the account ``u``."""
    waiting = event(user_id="u", entry_id=entry)
    return LimitWaits(event=waiting, holds=holds, clock=SystemClock(), has_called=has_called)


async def until_left(holds: Holds, events: int) -> None:
    """Return when so many events left their places."""
    async with asyncio.timeout(5):
        while holds.events < events:  # noqa: ASYNC110  # holds announce nothing
            await asyncio.sleep(0.01)


async def test_a_wait_leaves_the_place_and_its_end_takes_it_again() -> None:
    """Moderation calls that are held are counted apart."""
    holds, opened = Holds(most=9, most_of_account=9), asyncio.Event()

    async def limit() -> None:
        await opened.wait()

    waiting = asyncio.create_task(waits_of(holds, "1-1").wait(limit()))
    await until_left(holds, 1)
    seen = holds.events, holds.count, holds.open_lanes(0.0)
    opened.set()
    await waiting

    assert seen == (1, 0, {"u": 9})
    assert (holds.events, holds.open_lanes(0.0)) == (0, {})


async def test_a_short_wait_keeps_its_place() -> None:
    """A round trip to Redis is no reason to limit the account, and needs no room."""
    holds = Holds(most=0, most_of_account=0)

    await waits_of(holds, "1-1").wait(asyncio.sleep(0))


async def test_without_room_only_an_event_that_called_no_model_is_put_back() -> None:
    """The wait of the one ends; the other would be paid twice, so it waits on in its place."""
    holds, opened = Holds(most=9, most_of_account=1), asyncio.Event()
    ended = list[str]()

    async def limit(entry: str) -> None:
        try:
            await opened.wait()
        finally:
            ended.append(entry)

    with ExitStack() as stack:
        stack.enter_context(holds.away(event(user_id="u", entry_id="1-1"), now_s=0.0))
        paid = asyncio.create_task(waits_of(holds, "1-2", has_called=True).wait(limit("paid")))
        with pytest.raises(asyncio.CancelledError):
            await waits_of(holds, "1-3").wait(limit("new"))
        before = list(ended), holds.events
        opened.set()
        await paid

    assert before == (["new"], 1)
    assert ended == ["new", "paid"]


class PausingRedis:
    """Says that every upstream pauses, and lets others come while it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def pipeline(self, **_: object) -> Self:
        """The calls of one round trip."""
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def pttl(self, key: str) -> None:
        """Ask for one pause."""
        self.asked.append(key)

    async def execute(self) -> list[int]:
        """Every pause lasts a minute."""
        self.meanwhile()
        return [60_000] * len(self.asked)


async def test_servers_that_are_connected_meanwhile_disturb_no_pause() -> None:
    """They have theirs at the next look."""
    redis, clock = PausingRedis(), SystemClock()
    settings = Settings.model_validate({"DATABASE_URL": "postgresql://h/d", "REDIS_URL": "redis://h"})
    fleet = FleetLimits(cast("Redis", redis), settings, worker="w", clock=clock, work=Supervisor())

    def limits(url: str) -> UpstreamLimits:
        return fleet.of(UpstreamKind.MODEL, Upstream(name="model", url=url, key_id="none", model="m"))

    known = limits("http://known")
    redis.meanwhile = lambda: limits("http://new")
    await fleet.read_pauses()

    assert known.pause_left_s > 0
    assert limits("http://new").pause_left_s == 0


@pytest.mark.parametrize(
    ("upstream", "cause", "fix"),
    [
        ("moderation", "key", "set HUSHGATE_MODERATION_KEY (else HUSHGATE_MODEL_KEY) to a key that"),
        ("moderation", "address", "name a server with a moderation API"),
        ("classifier safe", "key", "set HUSHGATE_CLASSIFIER_KEYS to a key that"),
        ("model other", "quota", "check plan and balance at the provider"),
        ("model", "model", "correct HUSHGATE_MODEL_URL"),
    ],
)
def test_an_upstream_that_refuses_each_call_says_what_to_correct(upstream: str, cause: str, fix: str) -> None:
    """A refused key is no missing API, and a used-up quota no wrong address; Postgres is named first."""
    report = UpstreamReport(
        upstream=upstream, account="a", state="closed", times_opened=0, under_way=0, most=1, waiting=0,
        trouble=AttemptOutcome.MISCONFIGURED, status=403, cause=cause,
    )  # fmt: skip
    worker = WorkerReport(worker="w", upstreams=(report,), quotas=(), storage="ReadOnlySqlTransaction")
    stored, found = problems([worker, worker])

    assert f"; {fix}" in found
    assert stored.startswith("Postgres: no decision can be stored, ReadOnlySqlTransaction")
