"""The console script ``hushgate`` as people and pipes run it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cli import output
from cli.main import main

HUSHGATE = str(Path(sys.executable).parent / "hushgate")
PATIENCE_S = 60
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Standard output as NDJSON."""
        return [json.loads(line) for line in self.out.splitlines()]


class _Stream(io.TextIOWrapper):
    """Standard output or error that is read afterwards."""

    def __init__(self, buffer: io.BytesIO, *, is_terminal: bool = False) -> None:
        super().__init__(buffer, encoding="utf-8", newline="")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def text(self) -> str:
        """All that was written."""
        self.flush()
        self.seek(0)
        return self.read()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """Runs commands in a folder of their own with an environment that holds nothing by chance."""

    environment: Mapping[str, str]
    folder: Path

    def env(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        """The environment with these changes; None takes a variable away."""
        changed = {**self.environment, **changes}
        return {name: value for name, value in changed.items() if value is not None}

    def run(self, *words: str, stdin: bytes = b"", env: Mapping[str, str | None] | None = None) -> Ended:
        """Run the script's own ``main`` in this process: the same code without two seconds of imports."""
        out, err = _Stream(io.BytesIO()), _Stream(io.BytesIO())
        code = self._run(words, stdin, env or {}, out, err)
        return Ended(code=code, out=out.text(), err=err.text())

    def on_terminal(self, *words: str, columns: int = 80) -> Ended:
        """Run in this process as on a terminal of this width; ``err`` is part of ``out``."""
        screen = _Stream(io.BytesIO(), is_terminal=True)
        code = self._run(words, b"", {"TERM": "xterm-256color", "COLUMNS": str(columns)}, screen, screen)
        return Ended(code=code, out=STYLE.sub("", screen.text()), err="")

    def _run(
        self,
        words: Sequence[str],
        stdin: bytes,
        env: Mapping[str, str | None],
        out: io.TextIOWrapper,
        err: io.TextIOWrapper,
    ) -> int:
        columns = int(env["COLUMNS"] or 0) if "COLUMNS" in env else None
        with (
            patch.dict(os.environ, self.env(env), clear=True),
            patch.object(sys, "argv", [HUSHGATE, *words]),
            patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")),
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            patch.object(output.screen, "_width", columns),  # read once from COLUMNS by rich
            patch.object(output.errors, "_width", columns),
        ):
            return _code_of(main)

    def spawn(self, *words: str, stdin: bytes = b"", env: Mapping[str, str | None] | None = None) -> Ended:
        """Run the console script in a pipe, as a process of its own."""
        done = subprocess.run(
            [HUSHGATE, *words],
            input=stdin,
            capture_output=True,
            env=self.env(env or {}),
            cwd=self.folder,
            timeout=PATIENCE_S,
            check=False,
        )
        return Ended(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    def typed(self, *words: str, columns: int = 80) -> tuple[str, int]:
        """All that a real terminal of this width was sent by a process of its own, and the exit code."""
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen(
            [HUSHGATE, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=self.env({"TERM": "xterm-256color"}),
            cwd=self.folder,
        )
        os.close(theirs)
        with os.fdopen(ours, "rb", buffering=0) as screen:
            shown = _until_hung_up(screen)
        return shown.decode(errors="replace").replace("\r\n", "\n"), process.wait(PATIENCE_S)

    def piped(self, *words: str, into: Sequence[str]) -> tuple[str, str]:
        """What ``hushgate words | into`` prints, and what hushgate says on standard error."""
        first = subprocess.Popen(
            [HUSHGATE, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env({}),
            cwd=self.folder,
        )
        assert first.stdout is not None
        assert first.stderr is not None
        taken = subprocess.run(into, stdin=first.stdout, capture_output=True, check=True, timeout=PATIENCE_S)
        first.stdout.close()
        said = first.stderr.read().decode()
        first.stderr.close()
        first.wait(PATIENCE_S)
        return taken.stdout.decode(), said


def shell_at(folder: Path, **variables: str) -> Shell:
    """A shell in this folder with these variables and those of every terminal."""
    known = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    return Shell(environment=known | variables, folder=folder)


def _code_of(command: Callable[[], None]) -> int:
    try:
        command()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _until_hung_up(screen: Any) -> bytes:
    shown = b""
    while True:
        try:
            more = screen.read(65_536)
        except OSError:  # Linux says EIO when the last writer is gone
            return shown
        if not more:
            return shown
        shown += more
