"""The processes of the fleet: started, signalled and ended by process id."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from chaos.kinds import Role

END_S: Final = 60.0
TAIL_CHARS: Final = 1_000_000
MOST_LINES: Final = 20
LESSER: Final = re.compile(r'"level": "(?:debug|info|warning)"')
CODES: Final = {
    signal.SIGKILL: (-signal.SIGKILL,),
    signal.SIGTERM: (0, -signal.SIGTERM),
}
"""Exit codes that each signal may have. Celery ends with 0. uvicorn shuts down, then ends by the signal; a
process that has not installed its handlers yet ends by it at once."""


@dataclass(slots=True)
class Managed:
    """One process and how to start it again.

    Attributes:
        expected: the tool is ending it.
        starts: number of starts.
    """

    name: str
    role: Role
    command: tuple[str, ...]
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    expected: bool = False
    starts: int = 0

    @property
    def pid(self) -> int:
        """Its process id; 0 before its start."""
        return self.process.pid if self.process is not None else 0

    @property
    def lives(self) -> bool:
        """Whether it runs or is stopped."""
        return self.process is not None and self.process.poll() is None


@dataclass(slots=True)
class Processes:
    """All of them.

    Attributes:
        ended: role and exit code of processes that ended without a signal of ours, or after one with a code
            that is not in ``CODES``, or not in time.
        last_lines: the end of their logs.
        memory_mb: role -> (age in seconds, resident megabytes) of living processes, sampled.
    """

    logs: Path
    managed: dict[str, Managed] = field(default_factory=dict)
    ended: Counter[str] = field(default_factory=Counter)
    memory_mb: dict[Role, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    last_lines: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    stopping: bool = False

    def add(self, name: str, role: Role, command: tuple[str, ...], environment: Mapping[str, str]) -> None:
        """Start a process of the fleet."""
        self.managed[name] = Managed(name=name, role=role, command=command, environment=environment)
        self.start(name)

    def start(self, name: str) -> None:
        """Start a process, or start it again; its output goes to a file of its own."""
        with self.lock:
            if self.stopping:
                return
            each = self.managed[name]
            if each.lives:  # two threads may both find it ended: the first copy would never be stopped
                return
            with (self.logs / f"{name}.log").open("ab") as log:
                each.process = subprocess.Popen(
                    [sys.executable, *each.command],
                    env={**os.environ, **each.environment},
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is for us: we end it in our order
                )
            each.started_s, each.expected, each.starts = time.monotonic(), False, each.starts + 1

    def of(self, role: Role) -> list[Managed]:
        """The living processes of a role."""
        return [each for each in self.managed.values() if each.role is role and each.lives]

    def end(self, name: str, number: signal.Signals) -> bool:
        """End a process by a signal and wait for it; whether the signal ended it, and as it should."""
        with self.lock:
            each = self.managed[name]
            process, lived, each.expected = each.process, each.lives, True
            if process is None:
                return False
            process.send_signal(number)
        try:
            code = process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self._count(each, f"did not end within {END_S:.0f} s of {number.name}")
            return False
        if not lived:
            self._count(each, str(code))
        elif code not in CODES[number]:
            self._count(each, f"{code} after {number.name}")
        return lived and code in CODES[number]

    def restart_ended(self) -> None:
        """Count and restart each process that ended without a fault of this run."""
        with self.lock:
            for each in self.managed.values():
                if each.process is not None and not each.lives and not each.expected:
                    self._count(each, str(each.process.returncode))
                    self.start(each.name)

    def _count(self, each: Managed, how: str) -> None:
        with self.lock:
            self.ended[f"{each.role} {how}"] += 1
            self.last_lines.append(f"{each.name}: {self._tail(each.name)}")

    def tails(self) -> list[str]:
        """The end of each log, by process."""
        return [f"{name}: {self._tail(name)}" for name in self.managed]

    def _tail(self, name: str) -> str:
        """The last errors of a log, then its last lines."""
        lines = (self.logs / f"{name}.log").read_text(errors="replace")[-TAIL_CHARS:].splitlines()
        errors = [line for line in lines if not LESSER.search(line)]
        return "\n".join([*errors[-MOST_LINES:], *lines[-MOST_LINES:]])

    def sample_memory(self) -> None:
        """Note the memory of each process."""
        for each in list(self.managed.values()):
            if each.lives:
                try:
                    resident = psutil.Process(each.pid).memory_info().rss / 1e6
                except psutil.Error:
                    continue
                self.memory_mb[each.role].append((time.monotonic() - each.started_s, resident))

    def stop(self) -> None:
        """End all of them: SIGTERM to all at once, SIGKILL to those that do not end."""
        with self.lock:
            self.stopping = True
        living = [each for each in self.managed.values() if each.lives]
        for each in living:
            each.expected = True
            os.kill(each.pid, signal.SIGCONT)
            os.kill(each.pid, signal.SIGTERM)
        deadline = time.monotonic() + END_S
        for each in living:
            assert each.process is not None
            try:
                each.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                each.process.kill()
                each.process.wait()
