"""The child processes of a run, and how a signal ends them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path


class Children:
    """The running child processes; ``interrupted``: a signal ended them, and no further one may start."""

    def __init__(self) -> None:
        self.interrupted = False
        self._pids: set[int] = set()

    def end_on_signals(self) -> None:
        """Let Ctrl-C and SIGTERM end the child processes; the second signal kills them."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._interrupt)

    async def run(self, log: Path, *words: str) -> int:
        """The exit code of ``python -m fuzz.run`` with these words; all its output is in ``log``."""
        with log.open("wb") as output:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "fuzz.run", *words,
                stdout=output, stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us; a merge runs in a child process of its own
            )  # fmt: skip
        self._pids.add(child.pid)
        if self.interrupted:
            _send(child.pid, signal.SIGTERM)
        try:
            return await child.wait()
        finally:
            self._pids.remove(child.pid)

    def _interrupt(self) -> None:
        number = signal.SIGKILL if self.interrupted else signal.SIGTERM
        self.interrupted = True
        for pid in self._pids:
            _send(pid, number)


def _send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a child process and those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, number)
