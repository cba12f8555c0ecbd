"""Limits within a process: rates, places of engines, requests of a person, log lines, the cache in memory."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from review.http.log_intervals import LOG_INTERVAL, LoggedReadings, ReportCounter
from review.http.visit import AT_ONCE, WAITING, Visit
from worker.places import NoPlace, Places, PlacesByKey
from worker.rates import MOST_KEYS, LocalRates, RateLimit
from worker.recent import Recent

LIMIT = RateLimit(per_minute=30, burst=3)


def test_a_burst_passes_at_once_and_the_rest_at_the_rate() -> None:
    """Three at once, then one every two seconds; what is refused costs nothing."""
    rates = LocalRates()
    waits = [rates.take("a", LIMIT, now_s).wait_s for now_s in (0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 60.0)]

    assert waits == pytest.approx([0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 2.0, 0.0])
    assert rates.take("b", LIMIT, 0.0).wait_s == 0.0


def test_a_part_is_taken_when_it_is_useful() -> None:
    """Up to the wanted amount, at least the useful one; 0 wanted takes nothing."""
    rates = LocalRates()
    taken = [rates.take("a", LIMIT, 0.0, wanted=wanted, least=least) for wanted, least in ((0, 0), (9, 1))]
    debt = LocalRates().take("a", LIMIT, 0.0, wanted=9, least=9)

    assert [(each.amount, each.left) for each in taken] == [(0, 3), (3, 0)]
    assert (debt.amount, debt.left) == (9, -6)


def test_keys_that_were_used_long_ago_are_forgotten() -> None:
    """Memory stays bounded, however many addresses ask."""
    rates = LocalRates()
    for number in range(MOST_KEYS + 5):
        rates.take(number, LIMIT, 0.0)

    assert len(rates._free_s) == MOST_KEYS


def test_what_was_not_used_for_longest_leaves_first() -> None:
    """A value that was read, or kept again, counts as used."""
    kept: Recent[str, int] = Recent(2)
    kept.keep("one", 1)
    kept.keep("two", 2)
    used = kept.get("one")
    kept.keep("three", 3)
    after_a_read = ("one" in kept, "two" in kept)
    kept.keep("one", 4)
    kept.keep("two", 5)

    assert (used, after_a_read) == (1, (True, False))
    assert (len(kept), kept.get("one"), kept.get("three")) == (2, 4, None)


def test_a_value_that_is_dropped_is_gone() -> None:
    """Dropping what is not there changes nothing."""
    kept: Recent[str, int] = Recent(2)
    kept.keep("one", 1)
    kept.drop("two")
    kept.drop("one")

    assert len(kept) == 0


async def test_engines_share_the_limit() -> None:
    """Reserved places count until they are given back, and no READ gets more than its part."""
    places = Places(10, sharers=3)

    reserved = [places.reserve(256) for _ in range(4)]
    places.give_back(3)

    assert reserved == [4, 4, 2, 0]
    assert (places.taken, places.reserve(5)) == (7, 3)


async def test_one_engine_may_take_every_place() -> None:
    """An engine that shares its places with none reserves all of them at once."""
    places = Places(7)

    assert (places.reserve(256), places.reserve(1)) == (7, 0)


async def test_places_above_the_limit_admit_nothing() -> None:
    """Lanes that run on after an outage count, and nothing is admitted before places are free again."""
    places = Places(4)
    places.take(6)

    assert places.reserve(1) == 0

    places.give_back(3)

    assert places.reserve(9) == 1


async def test_a_freed_place_wakes_every_engine() -> None:
    """All waiting engines look again when one place is given back; without one they wait until the limit."""
    places = Places(1)
    places.take()
    waiting = [asyncio.create_task(places.wait(30.0)) for _ in range(3)]
    await asyncio.sleep(0)

    places.give_back()

    assert await asyncio.gather(*waiting) == [True] * 3
    assert not await places.wait(0.001)


async def test_a_wait_that_ends_early_leaves_its_turn_to_the_next() -> None:
    """A cancelled or late wait takes no place, also when it was given one at that moment."""
    places, order = Places(1), list[str]()

    async def call(name: str) -> None:
        async with places.place():
            order.append(name)

    places.take()
    waits = [asyncio.create_task(call(name)) for name in ("cancelled", "given", "last")]
    await asyncio.sleep(0)
    waits[0].cancel()
    await asyncio.sleep(0)
    places.give_back()
    waits[1].cancel()  # its place was just given to it
    await asyncio.gather(*waits, return_exceptions=True)

    assert order == ["last"]
    assert (places.taken, places.waiting) == (0, 0)


async def test_no_more_wait_than_may() -> None:
    """A wait beyond ``most_waiting``, or beyond its time, is refused at once, or then."""
    places = Places(1, wait_s=0.01, most_waiting=1)
    async with places.place():
        first = asyncio.create_task(places.place().__aenter__())
        await asyncio.sleep(0)
        with pytest.raises(NoPlace, match="wait for one of 1"):
            await places.place().__aenter__()
        with pytest.raises(NoPlace, match="were taken"):
            await first

    assert (places.taken, places.waiting) == (0, 0)


KIM, LEE = uuid4(), uuid4()


async def test_requests_are_limited_per_person() -> None:
    """Requests above the limit wait, then are refused; nothing is left behind."""
    limit, gate, inside = PlacesByKey(AT_ONCE, most_waiting=WAITING), asyncio.Event(), []

    async def ask(person: UUID) -> None:
        async with limit.of(person):
            inside.append(person)
            await gate.wait()

    asked = [asyncio.ensure_future(ask(KIM)) for _ in range(AT_ONCE + WAITING)]
    asked.append(asyncio.ensure_future(ask(LEE)))
    for _ in range(5):
        await asyncio.sleep(0)
    begun = list(inside)
    with pytest.raises(NoPlace):
        await ask(KIM)
    gate.set()
    await asyncio.gather(*asked)

    assert begun == [KIM] * AT_ONCE + [LEE]
    assert inside.count(KIM) == AT_ONCE + WAITING
    assert limit._places == {}


START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_flood_of_reports_is_one_line_a_minute() -> None:
    """The first report is logged at once, the others are counted in the next line."""
    reports = ReportCounter()
    moments = [START + timedelta(milliseconds=number) for number in range(1000)]
    logged = [reports.count_report(moment) for moment in moments]
    later = reports.count_report(START + LOG_INTERVAL)

    assert logged == [1] + [0] * 999
    assert later == 1000


def test_a_followed_list_is_logged_once_a_minute_for_each_person() -> None:
    """Refreshes of the same list within a minute are not due; another list or person is.

    A clock that is set back by hours must not leave readings unlogged for hours.
    """
    log, kim, lee = LoggedReadings(), UUID(int=1), UUID(int=2)
    within = START + LOG_INTERVAL - timedelta(seconds=1)
    refreshes = [(kim, "a", START), (kim, "a", within), (kim, "b", within), (lee, "a", within)]
    due = [log.note(person, query, now) for person, query, now in refreshes]

    assert due == [True, False, True, True]
    assert log.note(kim, "a", START + LOG_INTERVAL)
    assert log.note(kim, "a", START - timedelta(hours=1))


def test_a_clock_that_is_set_back_keeps_no_client_waiting() -> None:
    """The rates of pages without a session count by a clock that is never set."""
    site: Any = SimpleNamespace(rates=LocalRates())
    request: Any = None
    times = [START, START - timedelta(hours=1)]
    visits = [Visit(site=site, request=request, signed_in=None, token="", now=now) for now in times]

    assert [each.wait_s(RateLimit(per_minute=60, burst=2), "client") for each in visits] == [0, 0]
