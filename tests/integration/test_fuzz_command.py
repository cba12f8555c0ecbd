"""``python -m fuzz`` with a program in the place of atheris: what it counts, stores and prints."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

PASSED: Final = "text"
BROKEN: Final = "events"
FAILED: Final = "html"
NO_RUNS: Final = "pdf"
ENDLESS: Final = "rules"
FUZZER: Final = f"""
import os, sys, time
from pathlib import Path

name, *words = sys.argv[1:]
options = dict(word[1:].split("=", 1) for word in words if word.startswith("-"))
if "merge" in options:
    sys.exit()
if name == {FAILED!r}:
    raise ImportError("no module of the test")
print("INFO: Instrumenting worker")
if name == {NO_RUNS!r}:
    print("stat::number_of_executed_units: 0")
    sys.exit()
print("#5\\tpulse  cov: 30 ft: 40 corp: 9/9b exec/s: 2 rss: 9Mb", flush=True)
if name == {ENDLESS!r}:
    Path("started").write_text(str(os.getpid()))
    time.sleep(60)
if name == {BROKEN!r}:
    path = options["artifact_prefix"] + "crash-new"
    Path(path).write_text("broken")
    print(f"artifact_prefix='x/'; Test unit written to {{path}}")
    sys.exit(77)
print("#7\\tDONE   cov: 31 ft: 42 corp: 9/9b exec/s: 2 rss: 9Mb")
print("stat::number_of_executed_units: 7")
sys.exit()
"""
"""What is imported as ``atheris``: it ends each target in another way."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working directory of the command."""
    (tmp_path / "atheris.py").write_text(FUZZER)
    return tmp_path


def started(folder: Path, *targets: str) -> subprocess.Popen[bytes]:
    """The command for these targets, one after the other."""
    words = [word for target in targets for word in ("--target", target)]
    return subprocess.Popen(
        [sys.executable, "-m", "fuzz", "--at-once", "1", "--seconds", "1", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def results(printed: bytes) -> dict[str, dict[str, Any]]:
    """What the command printed in a pipe, by target."""
    return {row["target"]: row for row in map(orjson.loads, printed.splitlines())}


def test_a_target_that_ran_to_its_end_passes(folder: Path) -> None:
    """An input that an earlier run kept is no finding of this run, and stays."""
    earlier = folder / "out/fuzz" / PASSED / "crash-earlier"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("broken once")
    command = started(folder, PASSED)
    printed, _ = command.communicate()

    assert command.returncode == 0
    found = results(printed)[PASSED]
    seconds = found.pop("seconds")
    assert seconds >= 0
    assert found == {
        "target": PASSED,
        "state": "passed",
        "runs": 7,
        "coverage": 31,
        "features": 42,
        "findings": [],
        "detail": None,
    }
    assert earlier.exists()


def test_a_target_that_is_broken_or_makes_no_runs_does_not_pass(folder: Path) -> None:
    """The exit code is 1, and the result names the kept input or the last lines of the output."""
    command = started(folder, BROKEN, FAILED, NO_RUNS)
    printed, _ = command.communicate()

    assert command.returncode == 1
    found = results(printed)
    kept = "out/fuzz/events/crash-new"
    assert {target: (row["state"], row["runs"], row["findings"]) for target, row in found.items()} == {
        BROKEN: ("broken", 5, [kept]),
        FAILED: ("not run", 0, []),
        NO_RUNS: ("not run", 0, []),
    }
    assert (folder / kept).read_text() == "broken"
    assert found[BROKEN]["detail"] == kept
    assert found[FAILED]["detail"].startswith("exit code 1 after 0 runs:\n")
    assert found[FAILED]["detail"].endswith("\nImportError: no module of the test")
    assert found[NO_RUNS]["detail"].startswith("exit code 0 after 0 runs:\nINFO: Instrumenting worker\n")

    stored = orjson.loads((folder / "out/fuzz.json").read_bytes())
    assert {row["target"]: row for row in stored["targets"]} == found
    assert stored["command"].startswith("make fuzz ARGS='--at-once 1 --seconds 1 --target events")
    assert stored["interrupted"] is False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_its_child_and_reports(folder: Path, number: signal.Signals) -> None:
    """What was done until then is printed and stored, and the exit code is 1."""
    os.mkfifo(folder / "started")
    command = started(folder, PASSED, ENDLESS, BROKEN)
    child = int((folder / "started").read_text())  # waits until the child has written it
    command.send_signal(number)
    printed, _ = command.communicate()

    assert command.returncode == 1
    found = {target: (row["state"], row["runs"]) for target, row in results(printed).items()}
    assert found == {PASSED: ("passed", 7), ENDLESS: ("interrupted", 5), BROKEN: ("not run", 0)}
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert orjson.loads((folder / "out/fuzz.json").read_bytes())["interrupted"] is True
