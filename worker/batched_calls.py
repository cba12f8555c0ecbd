"""Concurrent calls to one server, made together as a batch; a call on an idle server is made at once.

::

    call_batched ── no call under way ──► with the calls of this iteration of the event loop
         │
         └── calls under way ──► with the calls of the next ``WAIT_S``, or until those under way have ended
                                      │
                                      └── the batch failed: each call alone
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from worker.cancellation import cancel_all
from worker.errors import is_outage

WAIT_S: Final = 0.003
"""Longest wait for further calls."""
MOST: Final = 64
"""Calls of a batch."""
ALONE_S: Final = 5.0
"""How long calls are made alone after the server failed with a batch: a call may have crashed it."""

Server = TypeVar("Server")
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchedCall(Generic[Server, Asked, Answer]):
    """A kind of call that can be made for several callers at once.

    Attributes:
        together: an answer per question in their order, each as if it had been asked alone. When it raises,
            nothing was done for any of them or all of it may be repeated.
        most: questions of a batch.
    """

    together: Callable[[Server, Sequence[Asked]], Awaitable[Sequence[Answer]]]
    most: int = MOST


@dataclass(slots=True, eq=False, kw_only=True)
class _Waiting(Generic[Asked, Answer]):
    """One caller's question."""

    asked: Asked
    answer: asyncio.Future[Answer]


class Batches(Generic[Server, Asked, Answer]):
    """The callers of one kind of call."""

    def __init__(self, call: BatchedCall[Server, Asked, Answer]) -> None:
        self._call = call
        self._collected: list[_Waiting[Asked, Answer]] = []
        self._under_way: dict[asyncio.Task[None], list[_Waiting[Asked, Answer]]] = {}
        self._timer: asyncio.Handle | None = None
        self._alone_until_s = float("-inf")

    async def ask(self, server: Server, asked: Asked) -> Answer:
        """The answer to one question; raises what a call for this question alone raises.

        Cancelling one caller does not cancel the other calls in its batch.
        """
        loop = asyncio.get_running_loop()
        waiting: _Waiting[Asked, Answer] = _Waiting(asked=asked, answer=loop.create_future())
        self._collected.append(waiting)
        if len(self._collected) >= self._call.most:
            self._flush(server)
        elif self._timer is None and self._under_way:
            self._timer = loop.call_later(WAIT_S, self._flush, server)
        elif self._timer is None:
            self._timer = loop.call_soon(self._flush, server)
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            await self._abandon(waiting)
            raise

    def _flush(self, server: Server) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch = [each for each in self._collected if not each.answer.done()]
        self._collected = []
        loop = asyncio.get_running_loop()
        alone = loop.time() < self._alone_until_s
        for part in ([each] for each in batch) if alone else ([batch] if batch else ()):
            task = loop.create_task(self._make(server, part))
            self._under_way[task] = part
            task.add_done_callback(lambda ended: self._ended(server, ended))

    def _ended(self, server: Server, task: asyncio.Task[None]) -> None:
        """Ask at once what was collected meanwhile, when nothing else is under way."""
        for each in self._under_way.pop(task):
            each.answer.cancel()  # none is without an answer, unless the task was cancelled
        if self._collected and not self._under_way:
            self._flush(server)

    async def _make(self, server: Server, batch: list[_Waiting[Asked, Answer]]) -> None:
        """Make the call; afterwards each caller of the batch has an answer or an error."""
        try:
            answers = await self._call.together(server, [each.asked for each in batch])
            answered = tuple(zip(batch, answers, strict=True))
        except Exception as error:  # noqa: BLE001  # a bug reaches every caller instead of none
            if len(batch) > 1 and not is_outage(error):
                await asyncio.gather(*(self._make(server, [each]) for each in batch))
                return
            if len(batch) > 1:
                self._alone_until_s = asyncio.get_running_loop().time() + ALONE_S
            for each in batch:
                if not each.answer.done():
                    each.answer.set_exception(error)
        else:
            for each, answer in answered:
                if not each.answer.done():
                    each.answer.set_result(answer)

    async def _abandon(self, waiting: _Waiting[Asked, Answer]) -> None:
        """End a call whose callers were all cancelled."""
        for task, batch in self._under_way.items():
            if waiting in batch and all(each.answer.done() for each in batch):
                await cancel_all((task,))
                return


_BATCHES: Final[WeakKeyDictionary[Any, dict[object, Batches[Any, Any, Any]]]] = WeakKeyDictionary()


async def call_batched(server: Server, call: BatchedCall[Server, Asked, Answer], asked: Asked) -> Answer:
    """The answer to one question, asked together with those of other callers of the same server.

    Raises:
        Exception: what the call raises for this question alone.
    """
    batches = _BATCHES.setdefault(server, {})
    found: Batches[Server, Asked, Answer] | None = batches.get(call)
    if found is None:
        found = batches[call] = Batches(call)
    return await found.ask(server, asked)
