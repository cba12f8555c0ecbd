"""The child processes that read a document, as a test sees them."""

from __future__ import annotations

import contextlib

import psutil


def reader_processes() -> list[psutil.Process]:
    """Those of this process and of servers that it started; one that has ended meanwhile is none."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if any("document_process" in word for word in each.cmdline()):
                found.append(each)
    return found


def kill_readers() -> None:
    """Kill each; one that has ended meanwhile is left alone."""
    for each in reader_processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
