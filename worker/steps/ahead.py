"""Steps that run while another call is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from worker.cancellation import cancel_all
from worker.steps.run import Run
from worker.trace import EventTrace

Value = TypeVar("Value")
Part = TypeVar("Part")


@dataclass(slots=True, kw_only=True)
class Ahead(Generic[Value]):
    """Steps begun before it is known whether their value is needed, as a context manager.

    Their stages follow those of the run once ``value`` is asked for. Steps that are not needed are cancelled
    at the end of the block and leave only their calls and costs.

    Attributes:
        steps: from the run, with a trace of its own, to the value.
        fresh_s: age in seconds after which the steps are made again; they may wait beside a hold of hours.
    """

    run: Run
    steps: Callable[[Run], Coroutine[Any, Any, Value]]
    fresh_s: float = float("inf")
    _begun: tuple[asyncio.Task[Value], EventTrace] | None = field(default=None, init=False)

    def begin(self) -> None:
        """Begin the steps; without this they are made when their value is asked for."""
        trace = self.run.trace.beside()
        self._begun = asyncio.create_task(self.steps(replace(self.run, trace=trace))), trace

    async def value(self) -> Value:
        """What the steps give, and their stages in the trace of the run."""
        if self._begun is None:
            return await self.steps(self.run)
        task, trace = self._begun
        if self.run.ports.clock.monotonic() - trace.began_s > self.fresh_s:
            return await self.steps(self.run)
        found = await task
        self._begun = None
        self.run.trace.join(trace)
        return found

    async def early(self, part: asyncio.Future[Part]) -> Part:
        """A part of the value that the begun steps set before they end; raises what the steps raise."""
        assert self._begun is not None  # the part is asked for after ``begin``
        begun: tuple[asyncio.Future[Any], ...] = (part, self._begun[0])
        await asyncio.wait(begun, return_when=asyncio.FIRST_COMPLETED)
        if not part.done():
            await self._begun[0]
        return part.result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._begun is not None:
            task, trace = self._begun
            await cancel_all([task])
            self.run.trace.join(trace, only_costs=True)
