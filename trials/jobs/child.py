"""The child process of shadows, with the lowest priority; may be ended at any time."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, TypeAlias

from tasks.upstreams import compile_patterns
from trials.jobs.batch import BatchFound, TrialBatch, decide_batch
from worker.errors import StorageUnavailable

LOWEST_PRIORITY: Final = 19
FIRST_TO_END: Final = "1000"
"""Linux ends this process first when memory is short."""
JOIN_S: Final = 5.0
START_S: Final = 120.0
"""A start imports the engine and compiles its patterns: a second or two, longer on a busy machine."""
DecideBatch: TypeAlias = Callable[[TrialBatch], BatchFound]


class ChildLost(Exception):
    """The child did not answer in time, or ended; the message says which."""


class ChildNotStarted(Exception):
    """The child did not start in time."""


class ShadowProcess:
    """One child process, started at the first work and again after a loss.

    Args:
        decide: what the child runs; a function of a module, as the child imports it.
    """

    def __init__(self, decide: DecideBatch = decide_batch) -> None:
        self._decide = decide
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._pipe: Connection | None = None

    async def decide(self, work: TrialBatch, *, most_s: float) -> BatchFound:
        """What the child found.

        Raises:
            ChildLost: it was ended because it took longer than ``most_s``, or it ended.
            ChildNotStarted: there is no child; the work is not at fault.
            StorageUnavailable: the child could not reach Postgres.
        """
        kind, answer = await asyncio.to_thread(self._asked, work, most_s)
        if kind == "found":
            found: BatchFound = answer
            return found
        raise StorageUnavailable("Postgres: the shadow's process did not reach it", kind=answer)

    def close(self) -> None:
        """End the child."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join(JOIN_S)
        self._process = self._pipe = None

    def _asked(self, work: TrialBatch, most_s: float) -> tuple[str, Any]:
        pipe = self._started()
        try:
            pipe.send(work)
            found: tuple[str, Any] = pipe.recv() if pipe.poll(most_s) else ("late", "")
        except (EOFError, OSError) as error:
            self.close()
            raise ChildLost("a decision ended its process") from error
        if found[0] == "late":
            self.close()
            raise ChildLost(f"a decision did not end within {most_s:.0f} s")
        if found[0] == "failed":
            raise ChildLost(f"a decision raised {found[1]}")
        return found

    def _started(self) -> Connection:
        if self._pipe is None or not self._process.is_alive():
            self.close()
            self._pipe, theirs = self._context.Pipe()
            self._process = self._context.Process(target=_serve, args=(theirs, self._decide), daemon=True)
            self._process.start()
            theirs.close()
            self._wait_for_start(self._pipe)
        return self._pipe

    def _wait_for_start(self, pipe: Connection) -> None:
        try:
            if pipe.poll(START_S):
                pipe.recv()
                return
        except (EOFError, OSError) as error:
            self.close()
            raise ChildNotStarted("the shadow's process ended while it started") from error
        self.close()
        raise ChildNotStarted(f"the shadow's process did not start within {START_S:.0f} s")


def _serve(pipe: Connection, decide: DecideBatch) -> None:
    _step_back()
    compile_patterns()
    with suppress(EOFError, ConnectionError):  # the parent is gone
        pipe.send(("ready", ""))
        while True:
            pipe.send(_answer(pipe.recv(), decide))


def _answer(work: TrialBatch, decide: DecideBatch) -> tuple[str, Any]:
    try:
        return "found", decide(work)
    except StorageUnavailable as error:
        return "storage", error.kind
    except Exception as error:  # noqa: BLE001  # the parent decides whose fault it is
        return "failed", type(error).__name__


def _step_back() -> None:
    """Let every other process go first."""
    with suppress(OSError):
        os.nice(LOWEST_PRIORITY)
    with suppress(OSError):  # only Linux has it
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_END)
