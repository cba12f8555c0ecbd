"""How long a worker tries to store the outcome of one entry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from tasks.entries.storage import Storage
from tasks.process import telemetry
from worker.errors import StorageUnavailable
from worker.ports import Clock

log = structlog.get_logger(__name__)

FAILURES_BEFORE_POISON: Final = 3
LONGEST_PAUSE_S: Final = 5.0
FIRST_PAUSE_S: Final = 0.25
LONGEST_OWN_FAILURE_S: Final = 3600.0
"""How long an entry is retried while only its own calls fail; the default of ``hold_max_s``."""
LONGEST_STORAGE_PAUSE_S: Final = 30.0

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Persistence:
    """Repeats what fails, while an outage or a bug may be the cause and not the entry."""

    storage: Storage
    clock: Clock

    async def problem(self, entry_id: str, run: Callable[[], Awaitable[None]]) -> str | None:
        """Run an entry until it has an outcome; what happened when only this entry gets none."""
        failures = 0
        while True:
            try:
                await run()
            except StorageUnavailable as error:
                kind, failures = error.kind, 0
                what = f"{kind} for {LONGEST_OWN_FAILURE_S:.0f} s, for this entry only"
            except Exception as error:  # a bug must not stop the lane
                kind, failures = type(error).__name__, failures + 1
                log.exception("handler_failed", entry_id=entry_id, failures=failures, exc_info=error)
                telemetry.report(error)
                await self.clock.sleep(min(LONGEST_PAUSE_S, 0.5 * 2**failures))
                if failures < FAILURES_BEFORE_POISON:
                    continue
                what, failures = f"{kind} in each of {FAILURES_BEFORE_POISON} runs", 0
            else:
                return None
            if not await self.storage.outlast(kind):
                return what

    async def outlasting_outages(self, call: Callable[[], Awaitable[Value]]) -> Value:
        """The value of a call that needs Postgres; waits without limit while Postgres is down.

        Raises:
            StorageUnavailable: this call failed for ``LONGEST_OWN_FAILURE_S`` while others succeeded, and its
                values may be the cause.
        """
        clock, failing_since, pause_s = self.clock, None, FIRST_PAUSE_S
        while True:
            try:
                return await call()
            except StorageUnavailable as error:
                if await self.storage.outlast(error.kind):
                    failing_since, pause_s = None, FIRST_PAUSE_S
                    continue
                failing_since = clock.monotonic() if failing_since is None else failing_since
                if error.may_be_input and clock.monotonic() - failing_since >= LONGEST_OWN_FAILURE_S:
                    raise
            await clock.sleep(pause_s)
            pause_s = min(LONGEST_STORAGE_PAUSE_S, pause_s * 2)
