"""Steps that run while another call is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from worker.cancellation import cancel_all
from worker.steps.run import Run
from worker.turns import beside

Value = TypeVar("Value")


@dataclass(slots=True, kw_only=True)
class Ahead(Generic[Value]):
    """Steps that run before it is known whether their value is needed, as a context manager.

    Their stages follow those of the run once ``value`` is asked for. Steps that are not needed are cancelled
    at the end of the block and leave only their calls and costs.

    Attributes:
        run: which gets the stages.
        beside: with which the steps are made: the run with a trace of its own.
        steps: which give the value.
    """

    run: Run
    beside: Run
    steps: Coroutine[Any, Any, Value]
    _task: asyncio.Task[Value] = field(init=False)
    _joined: bool = field(default=False, init=False)

    async def value(self) -> Value:
        """What the steps give, and their stages in the trace of the run."""
        found = await self._task
        self.run.trace.join(self.beside.trace)
        self._joined = True
        return found

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(beside(self.steps))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await cancel_all([self._task])
        if not self._joined:
            self.run.trace.join(self.beside.trace, only_costs=True)
