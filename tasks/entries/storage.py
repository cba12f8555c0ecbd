"""Whether outcomes can be stored, and how long a worker tries; meanwhile nothing is admitted or asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar, TypeVarTuple

import structlog

from tasks.process import telemetry
from worker.errors import StorageUnavailable
from worker.ports import Clock

log = structlog.get_logger(__name__)

PROBE_S: Final = 0.5
FAILURES_BEFORE_POISON: Final = 3
FIRST_PAUSE_S: Final = 0.25
LONGEST_OWN_FAILURE_S: Final = 3600.0
"""How long an entry is retried while only its own calls fail; the default of ``hold_max_s``."""
LONGEST_STORAGE_PAUSE_S: Final = 30.0

Value = TypeVar("Value")
Given = TypeVarTuple("Given")


class Storage:
    """Whether outcomes can be stored: closed from the first doubt until a probe has written.

    Only the probe opens the storage: a Postgres that answers queries may refuse writes, and a call that
    began before an outage may succeed during it.

    Args:
        probe: returns when a decision could be stored, raises ``StorageUnavailable`` when not.
        reopened: called at each opening, to replace dead connections.
        clock: the worker's clock.

    Attributes:
        trouble: why no decision can be stored, as the last probe failed; empty: one can be.
    """

    def __init__(
        self, probe: Callable[[], Awaitable[None]], reopened: Callable[[], Awaitable[None]], clock: Clock
    ) -> None:
        self._probe = probe
        self._reopened = reopened
        self._clock = clock
        self._open = asyncio.Event()
        self._open.set()
        self._doubted = asyncio.Event()
        self._why = ""
        self._outages = 0
        self.trouble = ""

    @property
    def is_open(self) -> bool:
        """False while decisions may not be storable."""
        return self._open.is_set()

    async def wait_until_open(self) -> None:
        """Return once decisions can be stored."""
        await self._open.wait()

    def doubt(self, why: str) -> None:
        """Close until the probe has passed; ``why`` is a short stable word for the log."""
        if self.is_open:
            self._why = why
            self._open.clear()
            self._doubted.set()

    async def wait_for_probe(self, why: str) -> bool:
        """Close, and return when open again: True after an outage, False if the first probe passed."""
        before = self._outages
        self.doubt(why)
        await self.wait_until_open()
        return self._outages > before

    async def run_to_outcome(
        self, entry_id: str, run: Callable[[*Given], Awaitable[None]], *given: *Given
    ) -> str | None:
        """Run an entry until it has an outcome: None; or what happened where only this entry gets none."""
        failures = 0
        while True:
            try:
                await run(*given)
            except StorageUnavailable as error:
                kind, failures = error.kind, 0
                what = f"{kind} for {LONGEST_OWN_FAILURE_S:.0f} s, for this entry only"
            except Exception as error:  # a bug must not stop the lane
                kind, failures = type(error).__name__, failures + 1
                log.exception("handler_failed", entry_id=entry_id, failures=failures, exc_info=error)
                telemetry.report(error)
                if failures < FAILURES_BEFORE_POISON:
                    await self._clock.sleep(0.5 * 2**failures)
                    continue
                what, failures = f"{kind} in each of {FAILURES_BEFORE_POISON} runs", 0
            else:
                return None
            if not await self.wait_for_probe(kind):  # at once: an outage may end during a pause
                return what

    async def outlasting_outages(self, call: Callable[[*Given], Awaitable[Value]], *given: *Given) -> Value:
        """The value of a call that needs Postgres; waits without limit while Postgres is down.

        Raises:
            StorageUnavailable: this call failed for ``LONGEST_OWN_FAILURE_S`` while others succeeded, and its
                values may be the cause.
        """
        clock, failing_since, pause_s = self._clock, None, FIRST_PAUSE_S
        while True:
            try:
                return await call(*given)
            except StorageUnavailable as error:
                if await self.wait_for_probe(error.kind):
                    failing_since, pause_s = None, FIRST_PAUSE_S
                    continue
                failing_since = clock.monotonic() if failing_since is None else failing_since
                if error.may_be_input and clock.monotonic() - failing_since >= LONGEST_OWN_FAILURE_S:
                    raise
            await clock.sleep(pause_s)
            pause_s = min(LONGEST_STORAGE_PAUSE_S, pause_s * 2)

    async def watch(self) -> None:
        """Settle every doubt, until cancelled."""
        while True:
            await self._doubted.wait()
            await self._settle()
            self._doubted.clear()
            self._open.set()
            await self._reopened()

    async def _settle(self) -> None:
        if (problem := await self._problem()) is None:
            log.warning("storage_doubted", error=self._why)
            return
        log.error("storage_unavailable", error=self._why, probe=problem)
        while problem is not None:
            self.trouble = problem
            await asyncio.sleep(PROBE_S)
            problem = await self._problem()
        self._outages, self.trouble = self._outages + 1, ""
        log.info("storage_available")

    async def _problem(self) -> str | None:
        try:
            await self._probe()
        except StorageUnavailable as error:
            return error.kind
        return None
