"""Ends what a command left running: a process of its own, as a killed command can end nothing.

Usage: python leftovers.py FOLDER [--keep]

Standard input is a pipe that the command holds; each line is the id of a process that it started. When the
command ends, however it ends, the pipe reaches its end. Run by path, not as a module: it imports little.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

STOP_S: Final = 40.0
"""Time after SIGTERM until a process of the fleet is killed."""
SERVER_STOP_S: Final = 15.0
SERVERS: Final = {"postgres": "postgres", "valkey": "valkey-server"}
"""Folder of each server, which is its working directory, and the name of its process."""


def end_servers(folder: Path) -> None:
    """End the servers whose files are in this folder, and wait until they have ended."""
    places = {(name, str(folder / place)) for place, name in SERVERS.items()}
    found = psutil.process_iter(["name", "cwd", "ppid"])
    servers = {each.pid: each for each in found if (each.info["name"], each.info["cwd"]) in places}
    first = [each for each in servers.values() if each.info["ppid"] not in servers]
    _end(first, signal.SIGINT, SERVER_STOP_S)


def _end(processes: list[psutil.Process], number: signal.Signals, wait_s: float) -> None:
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.send_signal(number)
    until = time.monotonic() + wait_s
    while (left := [each for each in processes if lives(each.pid)]) and time.monotonic() < until:
        time.sleep(0.05)
    for each in left:
        with suppress(psutil.NoSuchProcess):
            each.kill()


def lives(pid: int | None) -> bool:
    """Whether this process has not ended; an ended one that its parent did not notice yet has."""
    try:
        return pid is not None and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def main() -> None:
    """Wait for the end of the command; end its processes, then its servers, and remove the folder."""
    folder = Path(sys.argv[1])
    processes = []
    for line in sys.stdin:
        with suppress(psutil.NoSuchProcess):
            processes.append(psutil.Process(int(line)))
    _end(processes, signal.SIGTERM, STOP_S)
    end_servers(folder)
    if "--keep" not in sys.argv:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
