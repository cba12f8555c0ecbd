"""The child process of shadows: it has the lowest priority, and can be ended at any time."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from tasks.upstreams import compile_patterns
from trials.jobs.batch import BatchFound, TrialBatch, decide_batch
from worker.errors import StorageUnavailable

LOWEST_PRIORITY: Final = 19
FIRST_TO_END: Final = "1000"
"""Linux ends this process first when memory is short."""
START_S: Final = 120.0
"""A start imports the engine and compiles its patterns: a second or two, longer on a busy machine."""
DecideBatch: TypeAlias = Callable[[TrialBatch], BatchFound]


class ChildLost(Exception):
    """The child did not answer in time, or ended; the message says which."""


class ChildNotStarted(Exception):
    """The child did not start in time."""


class ShadowProcess:
    """One child, started at the first work and again after it was lost.

    Args:
        decide: what the child runs; a function of a module, as the child imports it.
    """

    def __init__(self, decide: DecideBatch = decide_batch) -> None:
        self._decide = decide
        self._pool: ProcessPoolExecutor | None = None
        self._pid = 0

    async def decide(self, work: TrialBatch, *, most_s: float) -> BatchFound:
        """What the child found.

        Raises:
            ChildLost: it was ended because it took longer than ``most_s``, or it ended.
            ChildNotStarted: there is no child; the work is not at fault.
            StorageUnavailable: the child could not reach Postgres.
        """
        pool = await self._started()
        try:
            async with asyncio.timeout(most_s):
                kind, answer = await _asked(pool, _answer, work, self._decide)
        except TimeoutError as error:
            self.close()
            raise ChildLost(f"a decision did not end within {most_s:.0f} s") from error
        except BrokenExecutor as error:
            self.close()
            raise ChildLost("a decision ended its process") from error
        if kind == "storage":
            raise StorageUnavailable("Postgres: the shadow's process did not reach it", kind=answer)
        if kind == "failed":
            raise ChildLost(f"a decision raised {answer}")
        found: BatchFound = answer
        return found

    def close(self) -> None:
        """End the child."""
        if self._pool is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._pool.shutdown(cancel_futures=True)
        self._pool = None

    async def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            pool = ProcessPoolExecutor(1, mp_context=context, initializer=_prepare, initargs=(self._decide,))
            try:
                async with asyncio.timeout(START_S):
                    self._pid = await _asked(pool, os.getpid)
            except (TimeoutError, BrokenExecutor) as error:
                pool.shutdown(wait=False, cancel_futures=True)
                raise ChildNotStarted("the shadow's process did not start") from error
            self._pool = pool
        return self._pool


async def _asked(pool: ProcessPoolExecutor, work: Callable[..., Any], *values: object) -> Any:
    return await asyncio.get_running_loop().run_in_executor(pool, work, *values)


def _answer(work: TrialBatch, decide: DecideBatch) -> tuple[str, Any]:
    try:
        return "found", decide(work)
    except StorageUnavailable as error:
        return "storage", error.kind
    except Exception as error:  # noqa: BLE001  # the parent decides whose fault it is
        return "failed", type(error).__name__


def _prepare(_decide: DecideBatch) -> None:
    """Let every other process go first; import and compile what the first decision would wait for."""
    with suppress(OSError):
        os.nice(LOWEST_PRIORITY)
    with suppress(OSError):  # only Linux has it
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_END)
    compile_patterns()
