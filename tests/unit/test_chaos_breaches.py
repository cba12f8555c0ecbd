"""``make chaos-breaches`` reports each planted defect, and accepts no run that shows nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from chaos import breaches as planted
from chaos.breaches import FEW_FAULTS, Mutation, Unfinished, check, run_command
from chaos.kinds import Law

KILLS = ("--only", "cut_off_kill")
LOST, TWICE, STUCK = (
    Mutation(law=law, file=f"{law}.py", right="a", wrong="b", options=options)
    for law, options in ((Law.LOST, FEW_FAULTS), (Law.TWICE, KILLS), (Law.STUCK, FEW_FAULTS))
)


class Runs:
    """Runs whose reports a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[str, Sequence[str]]] = []
        self.flaky: set[Sequence[str]] = set()
        self.unseen: set[Law] = set()
        self.unfinished: set[Law | None] = set()
        monkeypatch.setattr(planted, "breaches", self.breaches)

    def breaches(self, mutation: Mutation | None, options: Sequence[str]) -> dict[str, list[str]]:
        """Of a run: the law of its mutation, and one that does not hold at times."""
        law = mutation.law if mutation is not None else None
        self.made.append((law or "control", options))
        if law in self.unfinished:
            raise Unfinished("the run did not end within 300 s")
        found = {str(each): list[str]() for each in Law}
        if law is not None and law not in self.unseen:
            found[law] = ["entry without an end: 1-1"]
        return found | ({str(Law.LEAK): ["a lane"]} if options in self.flaky else {})


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs in which every mutation is found, and nothing else."""
    return Runs(monkeypatch)


def test_each_set_of_options_has_one_control_run(runs: Runs) -> None:
    """Before the mutations; all of them are as they should be."""
    lines: list[str] = []

    assert check([LOST, TWICE, STUCK], lines.append) == 0
    assert runs.made[:2] == [("control", FEW_FAULTS), ("control", KILLS)]
    assert [name for name, _ in runs.made[2:]] == [Law.LOST, Law.TWICE, Law.STUCK]
    assert len(lines) == 5


def test_a_breach_without_a_mutation_fails(runs: Runs) -> None:
    """A law that is broken at times would make each of its mutations look found."""
    runs.flaky.add(KILLS)

    assert check([LOST, TWICE], lambda _: None) == 1


def test_a_mutation_that_is_not_reported_fails(runs: Runs) -> None:
    """Another law's breach does not count."""
    runs.unseen.add(Law.TWICE)

    assert check([LOST, TWICE, STUCK], lambda _: None) == 1


@pytest.mark.parametrize("law", [Law.LOST, None], ids=["mutation", "control"])
def test_a_run_that_does_not_end_fails_and_the_others_follow(runs: Runs, law: Law | None) -> None:
    """Each mutation gets its line."""
    runs.unfinished.add(law)
    lines: list[str] = []

    assert check([LOST, STUCK], lines.append) == 1
    assert len(runs.made) == len(lines) == 3
    assert "did not end within 300 s" in "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at_sigterm", "child_does"), [("SIG_DFL", "sys.stdin.read()"), ("SIG_IGN", "time.sleep(600)")]
)
def test_a_run_that_takes_too_long_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at_sigterm: str, child_does: str
) -> None:
    """By SIGTERM; where that does not end it, by SIGKILL together with its children."""
    script = (
        "import pathlib, signal, subprocess, sys, time\n"
        f"signal.signal(signal.SIGTERM, signal.{at_sigterm})\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import sys, time; {child_does}'],"
        " stdin=subprocess.PIPE)\n"
        "pathlib.Path('pid').write_text(str(child.pid))\n"
        "time.sleep(600)"
    )
    monkeypatch.setattr(planted, "RUN_S", 3.0)
    monkeypatch.setattr(planted, "END_S", 1.0)
    with pytest.raises(Unfinished, match="did not end within 3 s"):
        run_command([sys.executable, "-c", script], tmp_path)
    child = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert not is_running(child)


def is_running(pid: int) -> bool:
    """Whether a process is neither gone nor a zombie."""
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False
