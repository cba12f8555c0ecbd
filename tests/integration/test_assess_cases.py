"""`hushgate assess --cases` through the console script, on a terminal and in a pipe."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.terminal import Shell

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
