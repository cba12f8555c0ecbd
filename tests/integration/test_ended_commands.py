"""What is left of a command that a signal ended: no server, no process, and all data."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest
from redis import Redis

from cli.stack import Stack
from cli.stack.leftovers import lives
from tests.support.running import eventually

STARTS = """
import subprocess, sys, time
from pathlib import Path
from redis import Redis
from cli.stack import Stack
stack = Stack(data=Path(sys.argv[1]) if sys.argv[1:] else None)
stack.start()
Redis.from_url(stack.redis_url).set("kept", 8)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.DEVNULL)
stack.watch(child.pid)
print(stack.postgres_pid, stack.redis_pid, child.pid, stack._leftovers.pid, stack._folder, flush=True)
time.sleep(600)
"""
STAYS = """
from types import SimpleNamespace
from cli.demo import staying
try:
    staying.stay_until_signal(SimpleNamespace(restart_ended=lambda: print("stays", flush=True) or ()), "here")
finally:
    staying.say("These data end with this command.")
    print("ends", flush=True)
"""


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder that the user of Postgres reaches."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "data"


def started(*words: str) -> tuple[subprocess.Popen[str], list[int], str]:
    """A program with servers and a process; the ids of Postgres, Valkey, process and watcher; the folder."""
    command = [sys.executable, "-c", STARTS, *words]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    with program.stdout:
        *pids, folder = program.stdout.readline().split()
    return program, [int(each) for each in pids], folder


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_program_that_a_signal_ends_leaves_nothing(number: signal.Signals) -> None:
    """Its servers, the processes of its fleet and its temporary folder end with it, also after SIGKILL."""
    program, pids, folder = started()
    running = [lives(pid) for pid in pids]
    program.send_signal(number)
    ended = program.wait()
    eventually(lambda: not any(map(lives, pids)), "the end of all processes")

    assert (running, ended) == ([True] * 4, -number)
    assert not Path(folder).exists()


@pytest.mark.parametrize("watched", [True, False])
def test_a_fleet_after_a_killed_fleet_ends_its_servers_before_it_uses_the_files(
    data: Path, *, watched: bool
) -> None:
    """Two servers that append to the same file would lose entries; the watcher may be killed too."""
    program, pids, _ = started(str(data))
    if not watched:
        psutil.Process(pids[-1]).kill()
        psutil.Process(pids[-2]).kill()
    program.kill()
    program.wait()
    with Stack(data=data) as again, Redis.from_url(again.redis_url) as redis:
        found, left = redis.get("kept"), [pid for pid in pids if lives(pid)]

    assert (found, left) == (b"8", [])


@pytest.mark.parametrize("ignored", [False, True])
def test_a_closed_terminal_ends_a_fleet_that_stays(*, ignored: bool) -> None:
    """By SIGHUP, which drains it as Ctrl-C does; under nohup it stays until SIGTERM."""
    words = [*(["nohup"] if ignored else []), sys.executable, "-c", STAYS]
    terminal, end = pty.openpty()
    program = subprocess.Popen(words, stdin=end, stdout=subprocess.PIPE, stderr=end, text=True)
    os.close(end)
    assert program.stdout is not None
    with program.stdout as lines:
        lines.readline()
        if not ignored:
            os.close(terminal)
        program.send_signal(signal.SIGHUP)
        if ignored:
            assert [lines.readline() for _ in range(2)] == ["stays\n"] * 2
            program.send_signal(signal.SIGTERM)
        rest = lines.readlines()

    assert (program.wait(), rest[-1]) == (0 if ignored else 129, "ends\n")


def test_an_interrupt_while_a_command_is_loaded_prints_nothing() -> None:
    """Modules are loaded for up to a second, and a person may have mistyped."""
    command = [sys.executable, "-X", "importtime", "-m", "cli", "--help"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        while "psycopg" not in program.stderr.readline():
            pass
        program.send_signal(signal.SIGINT)
        rest = [line for line in program.stderr if not line.startswith("import time:")]

    assert rest == []
    assert program.returncode == -signal.SIGINT
