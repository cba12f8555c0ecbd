"""``hushgate assess conversations`` on a part of the project's own set."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.running import eventually
from tests.support.terminal import HUSHGATE

SET: Final = Path("bench/conversations")
CASES: Final = 24


def run(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: PLW1510  # the code is looked at by the tests
        [HUSHGATE, "assess", "conversations", *words],
        env={**os.environ, "HUSHGATE_MODEL": "ignored", "DATABASE_URL": "postgresql://nowhere.invalid/x"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=400,
    )


@pytest.mark.timeout(460)
def test_right_answers_are_sent_and_wrong_and_invented_ones_held() -> None:
    """With default settings, by words only, beside a judge that knows the truth."""
    done = run(str(SET), "--limit", str(CASES), "--judge", "perfect")
    assert done.returncode == 0, done.stderr.decode()
    (row,) = map(json.loads, done.stdout.splitlines())
    decided = {writes: each["decided"] for writes, each in row["runs"].items()}

    assert decided == {"right": CASES, "wrong": CASES, "invented": CASES}
    assert row["right_sent"] >= 0.9, shown(row)
    assert (row["wrong_sent"], row["invented_sent"]) == (0.0, 0.0), shown(row)
    assert row["not_in_documents_answered"] == 0.0
    assert row["judge_calls"] <= 1.0
    assert row["completions"] <= 1.6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere: expected a readable file of cases"),
        ([str(SET), "--judge", "kind"], "judge: expected perfect, noisy:SHARE"),
        ([str(SET), "--writes", "lies"], "writes: expected one of right, wrong, invented"),
        ([str(SET), "--only", "bakery"], "--only: expected one of broadband, campsite, driving-school"),
        ([str(SET), "--policy", "best"], "--policy: expected one of calibrated"),
        ([str(SET), "--policy", '{"name": "best"}'], "--policy: "),
        ([str(SET), "--embeddings", "http://example.org"], "embeddings: expected none or"),
    ],
)
def test_a_wrong_option_ends_before_anything_starts(words: list[str], message: str) -> None:
    """The message names option, expectation and what came."""
    done = run(*words)

    assert done.returncode in (2, 5)
    assert message in done.stderr.decode()
    assert b"starting" not in done.stderr


def shown(row: dict[str, Any]) -> str:
    return json.dumps(row, indent=1)


@pytest.mark.timeout(300)
def test_it_stops_its_servers_when_it_is_terminated() -> None:
    """Postgres, Valkey and workers end with the command, and their folders are removed."""
    with tempfile.TemporaryDirectory() as folder:  # short: it holds the socket of Postgres
        process = subprocess.Popen(
            [HUSHGATE, "assess", "conversations", str(SET), "--limit", "1"],
            env=os.environ | {"TMPDIR": folder},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            eventually(lambda: list(Path(folder).glob("hushgate-logs-*/worker-1.log")), "a worker")
            process.terminate()
            code = process.wait(120)
        finally:
            process.kill()
            process.wait()
        left = list(Path(folder).glob("hushgate-*"))

    assert (code, left) == (130, [])
