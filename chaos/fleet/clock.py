"""A wall clock of its own for one worker: ``python -m chaos.fleet.clock FILE celery ...`` runs Celery on it.

The hook shifts the two readings of the machine's clock, ``machine_now`` and ``time.time``; the monotonic
clock stays that of the machine, as when NTP sets a clock. libfaketime 0.9.10 was tried first: with the
monotonic clock left alone, ``time.sleep`` fails under it.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

READ_EVERY_S: Final = 0.2


def new_clock_file(folder: Path) -> Path:
    """The file of a clock that is right."""
    file = folder / "clock"
    set_offset(file, 0)
    return file


def set_offset(file: Path, seconds: int) -> None:
    """Let the clock jump."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(f"{seconds}\n")
    unfinished.replace(file)


def shift(file: Path) -> None:
    """Shift the wall clock of this process by what the file says, now and later."""
    from worker.adapters import system_clock  # noqa: PLC0415  # not in the tool itself

    offset, right_time, right_now = _reader(file), time.time, system_clock.machine_now

    def now() -> datetime:
        return right_now() + timedelta(seconds=offset())

    system_clock.machine_now = now
    time.time = lambda: right_time() + offset()


def _reader(file: Path) -> Callable[[], int]:
    read_at, offset = 0.0, 0

    def read() -> int:
        nonlocal read_at, offset
        if time.monotonic() - read_at > READ_EVERY_S:
            read_at, offset = time.monotonic(), int(file.read_text())
        return offset

    return read


if __name__ == "__main__":
    shift(Path(sys.argv[1]))
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
