"""`hushgate assess` with cases and with conversations, on a terminal and in a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.running import eventually
from tests.support.terminal import HUSHGATE, Shell

SET: Final = Path("bench/conversations")
CASES: Final = 24


@pytest.mark.timeout(460)
def test_right_answers_are_sent_and_wrong_and_invented_ones_held() -> None:
    """With default settings, by words only, beside a judge that knows the truth."""
    shell = Shell(
        environment=os.environ
        | {"HUSHGATE_MODEL": "ignored", "DATABASE_URL": "postgresql://nowhere.invalid/x"},
        folder=Path.cwd(),
    )
    done = shell.run("assess", "conversations", str(SET), "--limit", str(CASES), "--judge", "perfect")
    assert done.code == 0, done.err
    (row,) = done.rows
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
    shell = Shell(environment={"HOME": "/nowhere"}, folder=Path.cwd())
    done = shell.run("assess", "conversations", *words)

    assert done.code in (2, 5)
    assert message in done.err
    assert "starting" not in done.err


def shown(row: dict[str, Any]) -> str:
    return json.dumps(row, indent=1)


@pytest.mark.timeout(300)
def test_it_stops_its_servers_when_it_is_terminated() -> None:
    """Postgres, Valkey and workers end with the command, and their folders are removed."""
    with tempfile.TemporaryDirectory() as folder:  # short: it holds the socket of Postgres
        process = subprocess.Popen(
            [HUSHGATE, "assess", "conversations", str(SET)],  # which takes longer than the signal
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


ROW = {
    "id": "a",
    "query": "Can I return it?",
    "context": "You can return any item within 30 days of delivery. " * 3,
    "response": "It is blue [1].",
    "label": 1,
}


def test_a_terminal_shows_a_table_and_a_pipe_gets_ndjson(tmp_path: Path) -> None:
    """Category, passed and failed checks and the human label stand in both; checks are words in the table."""
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW), encoding="utf-8")
    shell = Shell(environment={"HOME": str(tmp_path)}, folder=tmp_path)
    words = ("assess", "--cases", "rows.jsonl", "--policy", "safety")
    shown = shell.on_terminal(*words, columns=200)
    piped = shell.run(*words)
    (line,) = piped.rows

    assert (shown.code, piped.code) == (0, 0)
    assert "failed checks" in shown.out
    assert "low_grounding" in shown.out
    assert "retrieval_confidence, context_sufficiency" in shown.out
    assert "{" not in shown.out
    assert (line["category"], line["failed_checks"], line["label"]) == (
        "low_grounding",
        ["answer_grounding"],
        1,
    )


def test_class_and_subject_can_be_given_for_all_rows(tmp_path: Path) -> None:
    """Safety Mechanism: ``class_number`` and ``subject`` of a check; a row's own labels stand before them."""
    text = "An arithmetic progression is a sequence with a common difference between its terms. " * 2
    passages = [{"text": text, "labels": {"subject": "Mathematics", "class": 10}}]
    row = {"passages": passages, "response": "An arithmetic progression is a sequence [1]."}
    own = {"subject": "Biology"}
    rows = [{"id": "plain", **row}, {"id": "own", **row, "labels": own}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    shell = Shell(environment={"HOME": str(tmp_path)}, folder=tmp_path)
    words = ("assess", "--cases", "rows.jsonl", "--policy", "safety", "--required-label", "class=10")
    fits = shell.run(*words, "--required-label", "subject=Mathematics").rows
    other = shell.run(*words, "--required-label", "subject=Physics").rows
    wrong = shell.run(*words, "--required-label", "class=9")
    bare = shell.run(*words, "--required-label", "subject")

    assert [line["category"] for line in fits] == ["", "off_topic"]
    assert [line["category"] for line in other] == ["off_topic", "off_topic"]
    assert "expected one value of class, got '10' and '9'" in wrong.err
    assert (bare.code, "expected NAME=VALUE" in bare.err) == (2, True)
