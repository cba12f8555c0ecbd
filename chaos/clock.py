"""A wall clock of its own for one worker, by libfaketime: its monotonic clock stays that of the machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

PLACES: Final = (
    os.environ.get("HUSHGATE_FAKETIME"),
    *map(str, Path("out/faketime").glob("usr/lib/*/faketime/libfaketimeMT.so.1")),
    *map(str, Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")),
)
SECONDS_UNTIL_READ: Final = 1
"""The library reads its file so often."""


def library() -> Path | None:
    """The library; ``make faketime`` gets it."""
    return next((Path(each).resolve() for each in PLACES if each and Path(each).exists()), None)


def new_clock_file(folder: Path) -> Path | None:
    """The file of a clock that is right; None without the library."""
    if library() is None:
        return None
    file = folder / "clock"
    set_offset(file, 0)
    return file


def set_offset(file: Path, seconds: int) -> None:
    """Let the clock jump."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(f"{seconds:+d}\n")
    unfinished.replace(file)


def environment(file: Path | None) -> dict[str, str]:
    """What a process needs that uses the clock."""
    if file is None:
        return {}
    return {
        "LD_PRELOAD": str(library()),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_CACHE_DURATION": str(SECONDS_UNTIL_READ),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FLSHM": "0",
        "DONT_FAKE_MONOTONIC": "1",
    }
