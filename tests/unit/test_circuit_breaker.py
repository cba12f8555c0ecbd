"""The circuit breaker as a table of calls, and the places of a bulkhead."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import pytest

from worker.adapters.api_errors import ApiStatusError
from worker.adapters.call_guard import CallGuard, NotCalled, Trouble, Upstream, WaitsUntil, key_id
from worker.adapters.circuit_breaker import (
    BreakerLimits,
    BreakerState,
    CallAdmission,
    CircuitBreaker,
    CircuitOpen,
)
from worker.model import AttemptOutcome
from worker.places import NoPlace, Places

LIMITS = BreakerLimits(failures=3, first_pause_s=2.0, longest_pause_s=6.0)


class Seconds:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """The seconds now."""
        return self.now


def opened(clock: Seconds) -> CircuitBreaker:
    """A breaker that has just opened."""
    breaker = CircuitBreaker(LIMITS, clock)
    for _ in range(LIMITS.failures):
        breaker.ended(breaker.admit(), failed=True)
    return breaker


def test_only_failures_in_a_row_open_a_breaker() -> None:
    """An answer between two failures starts the count again."""
    breaker = CircuitBreaker(LIMITS, Seconds())
    for failed in (True, True, False, True, True):
        breaker.ended(breaker.admit(), failed=failed)
    before = breaker.state
    breaker.ended(breaker.admit(), failed=True)

    assert (before, breaker.state, breaker.times_opened) == (BreakerState.CLOSED, BreakerState.OPEN, 1)


def test_one_probe_at_a_time_after_the_pause() -> None:
    """Others are refused while a probe is under way; its answer closes the breaker."""
    clock = Seconds()
    breaker = opened(clock)
    with pytest.raises(CircuitOpen) as early:
        breaker.admit()
    clock.now += 2.0
    probe = breaker.admit()
    with pytest.raises(CircuitOpen):
        breaker.admit()
    with pytest.raises(CircuitOpen):
        breaker.check()
    breaker.ended(probe, failed=False)

    assert early.value.retry_after_s == pytest.approx(2.0)
    assert (probe, breaker.state, breaker.admit()) == (
        CallAdmission.PROBE,
        BreakerState.CLOSED,
        CallAdmission.NORMAL,
    )


def test_each_failed_probe_doubles_the_pause_up_to_the_longest() -> None:
    """Pauses of 2, 4, 6, 6 seconds; after an answer 2 again."""
    clock, pauses = Seconds(), []
    breaker = opened(clock)
    for failed in (True, True, True, False):
        with pytest.raises(CircuitOpen) as refused:
            breaker.admit()
        pauses.append(refused.value.retry_after_s)
        clock.now += refused.value.retry_after_s
        breaker.ended(breaker.admit(), failed=failed)
    for _ in range(LIMITS.failures):
        breaker.ended(breaker.admit(), failed=True)
    with pytest.raises(CircuitOpen) as again:
        breaker.admit()

    assert [*pauses, again.value.retry_after_s] == pytest.approx([2.0, 4.0, 6.0, 6.0, 2.0])


def test_a_cancelled_probe_leaves_its_place_to_the_next_call() -> None:
    """It says nothing about the upstream."""
    clock = Seconds()
    breaker = opened(clock)
    clock.now += 2.0
    breaker.abandoned(breaker.admit())

    assert breaker.admit() is CallAdmission.PROBE


def test_a_call_from_before_the_opening_changes_nothing() -> None:
    """Neither its answer nor its failure counts for a breaker that opened meanwhile."""
    clock = Seconds()
    breaker = CircuitBreaker(LIMITS, clock)
    early = [breaker.admit() for _ in range(5)]
    for admission in early[:3]:
        breaker.ended(admission, failed=True)
    breaker.ended(early[3], failed=False)
    breaker.ended(early[4], failed=True)

    assert (breaker.state, breaker.times_opened) == (BreakerState.OPEN, 1)


def test_a_breaker_without_a_number_of_failures_never_opens() -> None:
    """0 switches it off."""
    breaker = CircuitBreaker(BreakerLimits(failures=0))
    for _ in range(100):
        breaker.ended(breaker.admit(), failed=True)

    assert breaker.state is BreakerState.CLOSED


async def test_a_bulkhead_gives_places_in_order_and_refuses_after_its_wait() -> None:
    """The second call waits for the first; the third, which may not wait long, is refused."""
    patient, order, first_ends = Places(1), list[str](), asyncio.Event()

    async def call(name: str) -> None:
        async with patient.place():
            order.append(name)
            if name == "first":
                await first_ends.wait()

    first = asyncio.create_task(call("first"))
    await asyncio.sleep(0)
    others = [asyncio.create_task(call(name)) for name in ("second", "third")]
    await asyncio.sleep(0)
    counted = (patient.taken, patient.waiting)
    first_ends.set()
    await asyncio.gather(first, *others)
    hurried = Places(1, wait_s=0.01)
    async with hurried.place():
        with pytest.raises(NoPlace):
            async with hurried.place():
                pass

    assert (counted, order) == ((1, 2), ["first", "second", "third"])
    assert (patient.taken, patient.waiting, hurried.taken, hurried.waiting) == (0, 0, 0, 0)


def test_an_upstream_account_is_its_address_key_and_model_and_names_no_key() -> None:
    """Two keys are two accounts; the fingerprint does not contain the key."""
    accounts = {
        Upstream(name=name, url="http://u/v1", key_id=key_id(key), model=model).account
        for name, key, model in (
            ("model", "sk-secret-1", "m"),
            ("judge", "sk-secret-1", "m"),
            ("model", "sk-secret-2", "m"),
            ("model", "sk-secret-1", "other"),
            ("model", None, "m"),
        )
    }

    assert len(accounts) == 4
    assert not any("secret" in each for each in accounts | {key_id("sk-secret-1")})


class CountedLimits:
    """Limits that always have room, and what they counted."""

    def __init__(self) -> None:
        self.counted = self.requests = 0

    async def wait(self, tokens: int) -> None:
        """Count at once."""
        self.counted += tokens
        self.requests += 1

    def not_sent(self, tokens: int) -> None:
        """Give both back."""
        self.counted -= tokens
        self.requests -= 1

    def learned(self, headers: Mapping[str, str], status: int) -> None:
        """Nothing is learned."""

    def spent(self, estimated: int, tokens: int) -> None:
        """Correct the count."""
        self.counted += tokens - estimated


def guard(limits: CountedLimits, breaker: CircuitBreaker, places: Places) -> CallGuard:
    """A guard whose every error is a failure of the server."""
    upstream = Upstream(name="model", url="http://server", key_id="k", model="m")
    return CallGuard(
        upstream=upstream,
        breaker=breaker,
        places=places,
        trouble_of=lambda _: Trouble(AttemptOutcome.SERVER_ERROR, 500),
        limits=limits,
    )


async def test_a_call_that_is_not_made_gives_its_request_and_tokens_back() -> None:
    """Else workers that cannot call a server would use up the limit of those that can."""
    limits, places = CountedLimits(), Places(1, wait_s=0.01)
    busy = guard(limits, CircuitBreaker(LIMITS, Seconds()), places)
    async with places.place():
        with pytest.raises(NotCalled) as refused:
            async with busy.call(500):
                raise AssertionError("called without a place")

    assert (refused.value.kind, limits.counted, limits.requests) == (AttemptOutcome.BUSY, 0, 0)


async def test_a_call_that_failed_keeps_its_tokens_counted() -> None:
    """The server may have counted them."""
    limits = CountedLimits()
    with pytest.raises(ValueError, match="broken"):
        async with guard(limits, CircuitBreaker(LIMITS, Seconds()), Places(1)).call(500):
            raise ValueError("broken")

    assert limits.counted == 500


async def test_a_wait_for_a_place_ends_with_the_last_moment_of_the_event() -> None:
    """Afterwards its reply would be too late."""
    places = Places(1)
    waiting = guard(CountedLimits(), CircuitBreaker(LIMITS, Seconds()), places)
    async with places.place():
        with WaitsUntil(time.monotonic() + 0.02), pytest.raises(NotCalled) as refused:
            async with waiting.call():
                raise AssertionError("called without a place")

    assert refused.value.kind == AttemptOutcome.BUSY


class Unsortable(Exception):
    """An error whose translation fails."""


async def test_a_probe_whose_error_cannot_be_sorted_is_a_failed_probe() -> None:
    """Else the upstream would never be called again until the worker restarts."""
    seconds, limits = Seconds(), BreakerLimits(failures=1, first_pause_s=2.0)
    breaker = CircuitBreaker(limits, seconds)

    def unsortable(_: Exception) -> Trouble:
        raise OverflowError("year 10^20")

    upstream = Upstream(name="model", url="http://server", key_id="k", model="m")
    broken = CallGuard(upstream=upstream, breaker=breaker, places=Places(1), trouble_of=unsortable)
    for _ in range(2):  # the second one is a probe
        with pytest.raises(OverflowError):
            async with broken.call():
                raise Unsortable
        seconds.now += 10.0

    assert breaker.admit() is CallAdmission.PROBE


async def test_the_fleet_learns_the_wait_that_only_a_body_says() -> None:
    """And no wait that no server can mean."""
    learned: list[str | None] = []

    class Learning(CountedLimits):
        def learned(self, headers: Mapping[str, str], status: int) -> None:
            learned.append(headers.get("retry-after"))

    places = Places(1)
    refusals: list[tuple[dict[str, str], dict[str, str]]] = [
        ({}, {"retryDelay": "37s"}),
        ({"Retry-After": "1e300"}, {}),
    ]
    for headers, body in refusals:
        with pytest.raises(ApiStatusError):
            async with guard(Learning(), CircuitBreaker(LIMITS, Seconds()), places).call():
                raise ApiStatusError("slow down", status=429, headers=headers, body=body)

    assert learned == ["37.000", None]
