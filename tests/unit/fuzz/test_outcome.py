"""What the exit code and the log of one child process mean."""

from __future__ import annotations

from typing import Any, Final

import pytest

from fuzz.outcome import Outcome, State, outcome_of

DONE: Final = b"#9\tREDUCE cov: 957 ft: 2407 corp: 258/1508b\n#12\tDONE   cov: 960 ft: 2408 corp: 258/1505b\n"
BLIND: Final = b"#2\tINITED exec/s: 0 rss: 40Mb\nstat::number_of_executed_units: 15\n"
RAISED: Final = b"\n === Uncaught Python exception: ===\nBroken: not storable: '\\x00'\n"
SHOWN: Final = (BLIND + RAISED).decode().strip()
KEPT: Final = b"artifact_prefix='out/fuzz/pdf/'; Test unit written to out/fuzz/pdf/slow-unit-1\n"


@pytest.mark.parametrize(
    ("code", "log", "interrupted", "expected"),
    [
        (0, DONE, False, {"state": State.PASSED, "runs": 12, "coverage": 960, "features": 2408}),
        (0, BLIND, False, {"state": State.PASSED, "runs": 15}),
        (0, BLIND, True, {"state": State.PASSED, "runs": 15}),
        (72, BLIND, True, {"state": State.INTERRUPTED, "runs": 15}),
        (
            0,
            BLIND + KEPT,
            True,
            {
                "state": State.BROKEN,
                "runs": 15,
                "findings": ("out/fuzz/pdf/slow-unit-1",),
                "detail": "out/fuzz/pdf/slow-unit-1",
            },
        ),
        (
            -14,
            BLIND + RAISED,
            True,
            {"state": State.BROKEN, "runs": 15, "detail": f"exit code -14 after 15 runs:\n{SHOWN}"},
        ),
        (0, b"", False, {"state": State.NOT_RUN, "detail": "exit code 0 after 0 runs:"}),
        (
            -9,
            b"1\n" + BLIND + b"2\n3\n4\n5\n\n",
            False,
            {
                "state": State.NOT_RUN,
                "runs": 15,
                "detail": "exit code -9 after 15 runs:\nstat::number_of_executed_units: 15\n2\n3\n4\n5",
            },
        ),
    ],
)
def test_only_a_child_that_made_runs_and_ended_with_0_passed(
    code: int, log: bytes, interrupted: bool, expected: dict[str, Any]
) -> None:
    """A kept input counts before everything else; figures that libFuzzer did not print are None."""
    found = outcome_of("pdf", seconds=1.26, code=code, log=log, interrupted=interrupted)

    assert found == Outcome(target="pdf", seconds=1.3, **expected)
