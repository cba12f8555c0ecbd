"""Processes that crash during a chaos run are counted, in every part of the run."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Final, cast

import pytest

from chaos import run
from chaos.fleet.processes import Processes
from chaos.kinds import Role
from chaos.laws.observations import Observations
from chaos.run import Run, heal, observed

START_S: Final = 60.0
READY: Final = "print('ready', flush=True)\nwhile True: time.sleep(0.01)"
HANDLER: Final = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: {})\n"
ENDS_WELL: Final = f"{HANDLER.format('sys.exit(0)')}{READY}"
RAISES: Final = f"{HANDLER.format('1 / 0')}{READY}"
NO_HANDLER: Final = f"import time\n{READY}"
CRASHES: Final = "print('ready', flush=True)\nraise SystemExit(3)"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Processes of a run, all ended afterwards."""
    made = Processes(logs=tmp_path)
    yield made
    made.stop()


def started(processes: Processes, script: str) -> None:
    """Start one worker and wait for its first line."""
    processes.add("worker-1", Role.WORKER, ("-c", script), {})
    wait_for(lambda: "ready" in (processes.logs / "worker-1.log").read_text())


def crashed(processes: Processes) -> None:
    """End the worker without the knowledge of the run."""
    process = processes.managed["worker-1"].process
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait()


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when the condition holds."""
    deadline = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("script", "number", "expected"),
    [
        (ENDS_WELL, signal.SIGTERM, {}),
        (NO_HANDLER, signal.SIGTERM, {}),
        (NO_HANDLER, signal.SIGKILL, {}),
        (RAISES, signal.SIGTERM, {"worker 1 after SIGTERM": 1}),
    ],
    ids=["exit code 0", "ended by SIGTERM", "ended by SIGKILL", "traceback"],
)
def test_the_exit_code_after_a_signal_is_judged(
    processes: Processes, script: str, number: signal.Signals, expected: dict[str, int]
) -> None:
    """A traceback at SIGTERM is a crash, and its log is kept."""
    started(processes, script)

    as_asked = processes.end("worker-1", number)

    assert processes.ended == expected
    assert as_asked is not bool(expected)
    assert len(processes.last_lines) == len(expected)
    assert all("ZeroDivisionError" in each for each in processes.last_lines)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_crashed_before_the_signal_is_counted(
    processes: Processes, number: signal.Signals
) -> None:
    """The fault did not happen, and the crash did."""
    started(processes, CRASHES)
    wait_for(lambda: not processes.managed["worker-1"].lives)

    as_asked = processes.end("worker-1", number)

    assert processes.ended == {"worker 3": 1}
    assert not as_asked


def parts_of(processes: Processes, *threads: threading.Thread) -> Run:
    """A run at the end of its load."""
    nothing = SimpleNamespace(
        free=lambda: None, heal=lambda: None, drop_rules=lambda: None, restart_ended=lambda: None
    )
    world = SimpleNamespace(
        processes=processes,
        stopping=threading.Event(),
        disk=nothing,
        stack=nothing,
        network=nothing,
        sandbox=nothing,
    )
    parts = SimpleNamespace(
        world=world,
        injector=SimpleNamespace(threads=threads, failed=[]),
        publisher=SimpleNamespace(thread=threading.Thread(), ledger=None),
        prompts=None,
        review_client=None,
        growth=None,
        interrupted=False,
        stalled=False,
    )
    return cast("Run", parts)


def test_a_crash_before_the_faults_are_ended_is_counted(processes: Processes) -> None:
    """The worker is started again for the rest of the run."""
    started(processes, NO_HANDLER)
    crashed(processes)
    heal(parts_of(processes))

    assert processes.ended == {"worker -9": 1}
    assert processes.managed["worker-1"].lives


def test_a_crash_while_the_run_is_observed_is_counted(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading the tables of a long run takes minutes."""
    started(processes, NO_HANDLER)

    def observe(*_: object) -> Observations:
        crashed(processes)
        return Observations()

    monkeypatch.setattr(run, "observe", observe)

    assert observed(parts_of(processes)).ended == {"worker -9": 1}
