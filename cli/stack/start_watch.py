"""Waiting for processes of the fleet as long as they make progress, however busy the machine is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil
from redis.asyncio import Redis as AsyncRedis

from cli.stack.fleet import Fleet
from tasks.shards.backlog import backlog
from worker.errors import ConfigurationError

STILL_S: Final = 60.0
"""A process without CPU use and log lines for this long is stuck; a starting process has both."""
SAY_S: Final = 10.0


class StartWatch:
    """A wait for progress; the caller calls ``look`` until the wait is over.

    Args:
        running: the fleet.
        names: the processes that must make progress.
        what: what the caller waits for, in words.
        say: prints a line for a person.
    """

    def __init__(self, running: Fleet, names: tuple[str, ...], what: str, say: Callable[[str], None]) -> None:
        self._running = running
        self._names = names
        self._what = what
        self._say = say
        self._began = self._moved = self._said = time.monotonic()
        self._progress = self._measure()

    def look(self) -> None:
        """Note progress, and print every ``SAY_S`` what the caller waits for.

        Raises:
            ConfigurationError: a process ended, or made no progress for ``STILL_S``.
        """
        if (last_lines := self._running.ended_output()) is not None:
            raise ConfigurationError(last_lines)
        now, progress = time.monotonic(), self._measure()
        if progress != self._progress:
            self._moved, self._progress = now, progress
        if now - self._moved > STILL_S:
            raise ConfigurationError(
                f"{self._what}: expected progress, got none for {STILL_S:.0f} s"
                f" from {', '.join(self._names)}; logs: {self._running.logs}"
            )
        if now - self._said > SAY_S:
            self._said = now
            self._say(f"waiting for {self._what}: {now - self._began:.0f} s so far")

    def _measure(self) -> tuple[float, ...]:
        return tuple(self._measure_one(name) for name in self._names)

    def _measure_one(self, name: str) -> float:
        """CPU seconds and bytes of log, added up: either of them grows while a process starts."""
        return _cpu_s(self._running.workers[name].pid) + _size_bytes(self._running.logs / f"{name}.log")


async def await_workers(
    running: Fleet, client: AsyncRedis, stream: str, names: tuple[str, ...], say: Callable[[str], None]
) -> None:
    """Wait for the first heartbeat of each of these workers, while the workers live and make progress.

    Raises:
        ConfigurationError: a worker ended or is stuck; the message has its last lines.
    """
    watch = StartWatch(running, names, "the first heartbeat of every worker", say)
    while (await backlog(client, stream))["workers"] < len(names):
        watch.look()
        await asyncio.sleep(0.1)


def _cpu_s(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _size_bytes(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0
