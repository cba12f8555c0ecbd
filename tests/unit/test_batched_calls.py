"""Concurrent calls in batches: who shares a call, and who does not share its failure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.batched_calls import BatchedCall, call_batched
from worker.errors import StorageUnavailable


class Doubler:
    """A server that doubles numbers; notes each call and fails as its numbers say.

    Attributes:
        called: released once a call.
        answering: calls wait for it.
        poison: numbers that fail every call they are part of.
        failure: what such a call raises.
    """

    def __init__(self, *, poison: Sequence[int] = (), failure: Exception | None = None) -> None:
        self.calls: list[tuple[int, ...]] = []
        self.called = asyncio.Semaphore(0)
        self.ended = 0
        self.answering = asyncio.Event()
        self.answering.set()
        self.poison = frozenset(poison)
        self.failure = failure or ValueError("poison")

    async def double(self, numbers: Sequence[int]) -> list[int]:
        """Twice each number."""
        self.calls.append(tuple(numbers))
        self.called.release()
        await self.answering.wait()
        if self.poison & set(numbers):
            raise self.failure
        self.ended += 1
        return [2 * number for number in numbers]


DOUBLE = BatchedCall(together=Doubler.double, most=4)


async def test_calls_of_one_turn_on_an_idle_server_are_made_together_at_once() -> None:
    """No caller waits for another one to come."""
    server = Doubler()
    answers = await asyncio.gather(*(call_batched(server, DOUBLE, number) for number in range(3)))

    assert answers == [0, 2, 4]
    assert server.calls == [(0, 1, 2)]


async def test_calls_that_come_while_another_is_under_way_are_made_together() -> None:
    """They wait until it ends, or for a moment."""
    server = Doubler()
    server.answering.clear()
    first = asyncio.create_task(call_batched(server, DOUBLE, 1))
    await server.called.acquire()
    later = [asyncio.create_task(call_batched(server, DOUBLE, number)) for number in (2, 3)]
    await asyncio.sleep(0)
    before = list(server.calls)
    await server.called.acquire()  # the first is still without an answer
    server.answering.set()

    assert before == [(1,)]
    assert server.calls == [(1,), (2, 3)]
    assert await asyncio.gather(first, *later) == [2, 4, 6]


async def test_a_full_batch_does_not_wait() -> None:
    """A batch has at most ``most`` calls."""
    server = Doubler()
    answers = await asyncio.gather(*(call_batched(server, DOUBLE, number) for number in range(9)))

    assert answers == [2 * number for number in range(9)]
    assert server.calls == [(0, 1, 2, 3), (4, 5, 6, 7), (8,)]


async def test_a_call_that_fails_a_batch_fails_alone() -> None:
    """Its neighbours are asked about alone, and so is it."""
    server = Doubler(poison=[2])
    answers = await asyncio.gather(
        *(call_batched(server, DOUBLE, number) for number in (1, 2, 3)), return_exceptions=True
    )

    assert answers[::2] == [2, 6]
    assert answers[1] is server.failure
    assert server.calls == [(1, 2, 3), (1,), (2,), (3,)]


async def test_a_batch_with_too_few_answers_is_asked_alone() -> None:
    """No caller waits for an answer that does not come, or is cancelled for it."""

    class Forgetful(Doubler):
        async def double(self, numbers: Sequence[int]) -> list[int]:
            """Without the last answer of several."""
            answers = await super().double(numbers)
            return answers[:-1] if len(numbers) > 1 else answers

    server = Forgetful()
    call = BatchedCall(together=Forgetful.double, most=4)

    assert await asyncio.gather(*(call_batched(server, call, number) for number in (1, 2, 3))) == [2, 4, 6]


async def test_after_an_outage_calls_are_made_alone_for_a_while() -> None:
    """The callers repeat them: one that crashes the server must not take the others with it each time."""
    server = Doubler(poison=[2], failure=StorageUnavailable("connection lost"))
    first = await asyncio.gather(
        *(call_batched(server, DOUBLE, number) for number in (1, 2, 3)), return_exceptions=True
    )
    again = await asyncio.gather(
        *(call_batched(server, DOUBLE, number) for number in (1, 2, 3)), return_exceptions=True
    )

    assert first == [server.failure] * 3
    assert again == [2, server.failure, 6]
    assert server.calls == [(1, 2, 3), (1,), (2,), (3,)]


async def test_a_cancelled_caller_does_not_cancel_its_batch() -> None:
    """The others get their answers."""
    server = Doubler()
    server.answering.clear()
    callers = [asyncio.create_task(call_batched(server, DOUBLE, number)) for number in (1, 2)]
    await server.called.acquire()
    callers[0].cancel()
    await asyncio.wait(callers, timeout=0)
    server.answering.set()

    assert await callers[1] == 4
    assert callers[0].cancelled()


async def test_a_batch_without_callers_is_cancelled() -> None:
    """A worker that stops leaves no call behind."""
    server = Doubler()
    server.answering.clear()
    callers = [asyncio.create_task(call_batched(server, DOUBLE, number)) for number in (1, 2)]
    await server.called.acquire()
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    server.answering.set()
    answer = await call_batched(server, DOUBLE, 3)

    assert answer == 6
    assert server.ended == 1


async def test_a_caller_that_is_cancelled_before_the_call_is_left_out() -> None:
    """Nothing is asked for it."""
    server = Doubler()
    callers = [asyncio.create_task(call_batched(server, DOUBLE, number)) for number in (1, 2)]
    await asyncio.sleep(0)
    callers[0].cancel()
    answers = await asyncio.gather(*callers, return_exceptions=True)

    assert isinstance(answers[0], asyncio.CancelledError)
    assert answers[1] == 4
    assert server.calls == [(2,)]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=30),
    st.sets(st.integers(0, 9), max_size=3),
)
def test_each_caller_gets_the_answer_of_its_own_question(
    asked: list[tuple[int, int]], poison: set[int]
) -> None:
    """In every interleaving, with failures among them, batched answers equal those of single calls."""

    async def answers() -> list[object]:
        server = Doubler(poison=sorted(poison))

        async def one(number: int, turns: int) -> int:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await call_batched(server, DOUBLE, number)

        calls = (one(number, turns) for number, turns in asked)
        found = await asyncio.gather(*calls, return_exceptions=True)
        return [type(each) if isinstance(each, ValueError) else each for each in found]

    assert asyncio.run(answers()) == [ValueError if number in poison else 2 * number for number, _ in asked]


@pytest.mark.parametrize("waits", [True, False])
async def test_servers_do_not_share_batches(waits: bool) -> None:
    """A call of one server is never made on another."""
    one, other = Doubler(), Doubler()
    if waits:
        one.answering.clear()
    caller = asyncio.create_task(call_batched(one, DOUBLE, 1))
    assert await call_batched(other, DOUBLE, 2) == 4
    one.answering.set()

    assert await caller == 2
    assert (one.calls, other.calls) == ([(1,)], [(2,)])
