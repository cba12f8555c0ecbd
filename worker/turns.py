"""Turns on the event loop: events of busy accounts leave room between their steps for those of others."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from typing import Any, Final, TypeVar

Value = TypeVar("Value")
SLICE_S: Final = 0.0003
"""Work of busy accounts in one iteration of the event loop, as far as steps can be divided."""
SMOOTHING: Final = 1 / 32
_TURNS: ContextVar[Turns | None] = ContextVar("turns", default=None)


class Turns:
    """While an account with few lanes runs any, steps of other accounts' lanes run in the order of asking.

    A step is what a task does between two waits. asyncio knows no priorities: without turns an answer for 64
    events lets 64 steps run before the next event of another account.

    Args:
        few: lanes of an account with few.
        now_s: a precise clock.
    """

    def __init__(self, few: int, now_s: Callable[[], float]) -> None:
        self._few = few
        self.now_s = now_s
        self._running: Counter[str] = Counter()
        self._accounts_with_few = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._left_s = SLICE_S
        self._step_s = SLICE_S
        self._renewal: asyncio.Handle | None = None

    def begin(self, account: str, lane: Coroutine[Any, Any, Value]) -> Coroutine[Any, Any, Value]:
        """The coroutine for the task of a lane; ``ended`` must follow its end."""
        self._count(account, 1)
        return lane if self._running[account] <= self._few else Paced(self, lane)

    def ended(self, account: str) -> None:
        """Note the end of a lane."""
        self._count(account, -1)

    @property
    def are_taken(self) -> bool:
        """Whether an account with few lanes runs any."""
        return self._accounts_with_few > 0

    def turn(self) -> asyncio.Future[None] | None:
        """What a step must wait for; None when it may begin now."""
        if not self._accounts_with_few or (self._left_s > 0 and not self._waiting):
            return None
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._renew_later()
        return waiting

    def took(self, seconds: float) -> None:
        """Note the time of a step."""
        self._left_s -= seconds
        self._step_s += (seconds - self._step_s) * SMOOTHING
        self._renew_later()

    def _count(self, account: str, change: int) -> None:
        before, after = self._running[account], self._running[account] + change
        self._accounts_with_few += (0 < after <= self._few) - (0 < before <= self._few)
        self._running[account] = after
        if not after:
            del self._running[account]

    def _renew_later(self) -> None:
        if self._renewal is None:
            self._renewal = asyncio.get_running_loop().call_soon(self._renew)

    def _renew(self) -> None:
        """Begin a slice with the steps that wait longest."""
        self._renewal, self._left_s = None, SLICE_S
        for _ in range(min(len(self._waiting), max(1, int(SLICE_S / self._step_s)))):
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
        if self._waiting:
            self._renew_later()


def beside(work: Coroutine[Any, Any, Value]) -> Coroutine[Any, Any, Value]:
    """The coroutine for a task beside that of an event: with turns where the event has them."""
    turns = _TURNS.get()
    return work if turns is None else Paced(turns, work)


class Paced(Coroutine[Any, Any, Value]):
    """A coroutine for a task, each step of which waits for its turn, as do those of ``beside``."""

    __slots__ = ("_has_begun", "_has_turn", "_turns", "_work")

    def __init__(self, turns: Turns, work: Coroutine[Any, Any, Value]) -> None:
        self._turns = turns
        self._work = work
        self._has_begun = self._has_turn = False

    def send(self, value: Any, /) -> Any:
        """Run a step, or give the task its turn to wait for."""
        if not self._has_turn and (turn := self._turns.turn()) is not None:
            self._has_turn = True
            return next(turn.__await__())
        if not self._has_begun:
            self._has_begun = True
            _TURNS.set(self._turns)  # in the context of the task
        self._has_turn = False
        if not self._turns.are_taken:
            return self._work.send(value)
        began_s = self._turns.now_s()
        try:
            return self._work.send(value)
        finally:
            self._turns.took(self._turns.now_s() - began_s)

    def throw(self, *error: Any) -> Any:
        """Cancel the work, without a turn."""
        self._has_turn = False
        return self._work.throw(*error)

    def close(self) -> None:
        """End the work; also before its first step."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Value]:
        return (yield from self._work.__await__())
