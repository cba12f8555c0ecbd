"""How one target ended: read from the exit code of its child process and from libFuzzer's log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RUNS: Final = re.compile(rb"^(?:#|stat::number_of_executed_units:\s*)(\d+)\b", re.MULTILINE)
COVERAGE: Final = re.compile(rb"^#\d+\s.*?\bcov: (\d+) ft: (\d+)", re.MULTILINE)
ARTIFACT: Final = re.compile(rb"; Test unit written to (.+)$", re.MULTILINE)
EXCEPTION: Final = b"=== Uncaught Python exception: ==="
"""Printed before an input is kept; on a busy machine libFuzzer's alarm can end the process in between."""
LAST_LINES: Final = 5
"""Lines of the log that are shown for a target without a kept input."""


class State(StrEnum):
    """How a target ended."""

    PASSED = "passed"
    BROKEN = "broken"
    NOT_RUN = "not run"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one target.

    Attributes:
        target: its name.
        state: passed only with exit code 0, more than 0 runs and no finding.
        seconds: that the child process ran.
        runs: inputs tried.
        coverage: places in the code that were reached; None when libFuzzer printed none.
        features: the same, with how often and in which order they were reached.
        findings: paths of the inputs that libFuzzer kept in this run.
        detail: why the target did not pass, or what failed after it passed.
    """

    target: str
    state: State
    seconds: float = 0.0
    runs: int = 0
    coverage: int | None = None
    features: int | None = None
    findings: tuple[str, ...] = ()
    detail: str | None = None


def outcome_of(target: str, *, seconds: float, code: int, log: bytes, interrupted: bool) -> Outcome:
    """The outcome of a child process that ended with ``code`` and wrote ``log``."""
    runs = max(map(int, RUNS.findall(log)), default=0)
    coverage, features = map(int, (COVERAGE.findall(log) or [(0, 0)])[-1])
    findings = tuple(path.decode() for path in ARTIFACT.findall(log))
    if findings:
        state, detail = State.BROKEN, ", ".join(findings)
    elif code == 0 and runs > 0 and EXCEPTION not in log:
        state, detail = State.PASSED, None
    elif interrupted and EXCEPTION not in log:
        state, detail = State.INTERRUPTED, None
    else:
        lines = log.decode(errors="replace").strip().splitlines()[-LAST_LINES:]
        state = State.BROKEN if EXCEPTION in log else State.NOT_RUN
        detail = "\n".join([f"exit code {code} after {runs} runs:", *lines])
    return Outcome(
        target=target,
        state=state,
        seconds=round(seconds, 1),
        runs=runs,
        coverage=coverage or None,
        features=features or None,
        findings=findings,
        detail=detail,
    )
