"""A disk of a fixed size for Postgres and Valkey, so that it can be full."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.stack import Stack

BLOCK: Final = 1 << 20


@dataclass(slots=True, kw_only=True)
class Disk:
    """Where servers keep their files; ``is_own`` when it is a file system of its own, which can be filled."""

    folder: Path
    logs: Path
    is_own: bool

    @contextmanager
    def servers(self) -> Iterator[Stack]:
        """Postgres and Valkey with their files here."""
        before = tempfile.tempdir
        tempfile.tempdir = str(self.folder)
        try:
            stack = Stack()
        finally:
            tempfile.tempdir = before
        with stack:
            yield stack

    @property
    def free_bytes(self) -> int:
        """What is left of it."""
        return shutil.disk_usage(self.folder).free

    def fill(self) -> None:
        """Leave no free block."""
        with (self.folder / "ballast").open("wb") as ballast, suppress(OSError):
            os.posix_fallocate(ballast.fileno(), 0, max(BLOCK, self.free_bytes))
        with (self.folder / "rest").open("wb", buffering=0) as rest, suppress(OSError):
            while rest.write(b"0" * 4096):
                pass

    def free(self) -> None:
        """Give the space back."""
        for name in ("ballast", "rest"):
            (self.folder / name).unlink(missing_ok=True)


@contextmanager
def disk(size_mb: int) -> Iterator[Disk]:
    """A folder; with a size and as root, a file system in memory."""
    logs = Path(tempfile.mkdtemp(prefix="hushgate-chaos-"))
    folder = logs / "disk"
    folder.mkdir()
    logs.chmod(0o755)  # as root, Postgres runs as a user of its own
    is_own = bool(size_mb) and _mounted(folder, size_mb)
    folder.chmod(0o755)
    try:
        yield Disk(folder=folder, logs=logs, is_own=is_own)
    finally:
        if is_own:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)
        shutil.rmtree(logs, ignore_errors=True)


def _mounted(folder: Path, size_mb: int) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)]
    return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0
