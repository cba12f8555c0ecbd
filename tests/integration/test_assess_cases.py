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
    piped = shell.spawn(*words)
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
