"""``hushgate decisions review``: verdicts from a terminal and from a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.audited import blocked, history, ignored, record, replied, rows
from tests.integration.terminal import Shell


@pytest.fixture
def shell(database_url: str, tmp_path: Path) -> Shell:
    """A shell that knows the database and no key."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LOGNAME": "ann",
        "USER": "ann",
        "DATABASE_URL": database_url,
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }
    return Shell(environment=environment, folder=tmp_path)


def review(shell: Shell, *words: str, stdin: bytes = b"") -> tuple[int, list[dict[str, str]], str]:
    """Exit code, rows and what was said."""
    done = shell.run("decisions", "review", *words, stdin=stdin)
    return done.code, done.rows, done.err


def test_a_block_is_overturned_restored_and_undone(shell: Shell, database_url: str) -> None:
    """A draft that nobody has read stays sealed."""
    sealed = blocked(conversation_id="terminal", rejected_draft="Hm.")
    record(database_url, sealed)
    decision_id = str(sealed.decision_id)
    words = ("--verdict", "overturn", "--reason", "RULE_TOO_BROAD", "--corrected", "respond", "--restore")
    code, found, _ = review(shell, decision_id, *words, "--note", "about filters")
    restored = history(database_url, "terminal")
    undone, back, _ = review(shell, decision_id, "--undo")
    query = "SELECT person, person_id, source, note FROM decision_reviews WHERE decision_id = %s"
    kept = rows(database_url, f"{query} ORDER BY created_at", sealed.decision_id)

    assert (code, undone) == (0, 0)
    assert [found[0][name] for name in ("id", "verdict", "effect")] == [decision_id, "overturn", "restored"]
    assert restored == [("user", "is this spam?")]
    assert (back[0]["verdict"], back[0]["effect"]) == ("withdrawn", "removed")
    assert history(database_url, "terminal") == []
    assert kept[0] == {
        "person": "ann (command line)",
        "person_id": None,
        "source": "cli",
        "note": "about filters",
    }
    logged = rows(
        database_url, "SELECT action FROM access_log WHERE decision_id = %s ORDER BY id", sealed.decision_id
    )
    assert [row["action"] for row in logged] == ["review", "undo"]


def test_a_pipe_reviews_many(shell: Shell, database_url: str) -> None:
    """What a line leaves out comes from the options; one that cannot be stored does not stop the others."""
    made = [ignored(), ignored(), replied()]
    record(database_url, *made)
    lines = [
        {"id": str(made[0].decision_id)},
        {"id": str(made[1].decision_id), "verdict": "agree", "remedy": "restore"},
        {"id": str(made[2].decision_id), "verdict": "overturn", "reason": "wrong_facts", "remedy": "remove"},
    ]
    stdin = "\n".join(json.dumps(line) for line in lines).encode() + b"\n\n"
    code, found, said = review(shell, "-", "--verdict", "unsure", stdin=stdin)

    assert code == 1
    assert [row.get("verdict") for row in found] == ["unsure", None, "overturn"]
    assert found[1]["error"].startswith("restore: expected")
    assert found[2]["effect"] == "removed"
    assert "1 of 3 not done" in said


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (("no-id", "--verdict", "agree"), b"", "id: expected the id of a decision, got 'no-id'"),
        (("{id}",), b"", "verdict: expected agree, overturn, unsure, got nothing"),
        (("{id}", "--verdict", "overturn"), b"", "reason: expected one of RULE_TOO_BROAD"),
        (("{id}", "--verdict", "overturn", "--reason", "NO"), b"", "reason: expected"),
        (("{id}", "--restore", "--remove"), b"", "--restore, --remove: expected one of them"),
        (("-", "--verdict", "agree"), b"", "standard input: expected one JSON object a line, got nothing"),
        (("-", "--verdict", "agree"), b'{"id": "{id}"}\n[]\n', "line 2: expected one JSON object"),
        (("-", "--verdict", "agree"), b'{"id": "{id}"}\n{"id": "x"}', "nothing was stored: 1 of 2"),
        (("-",), b'{"id": "{id}", "verdict": 5}', "verdict: expected agree, overturn, unsure, got 5"),
    ],
)
def test_what_is_no_review_is_refused_before_anything_is_stored(
    shell: Shell, database_url: str, words: tuple[str, ...], stdin: bytes, message: str
) -> None:
    """With the line's number where there are several."""
    decided = ignored()
    record(database_url, decided)
    known = str(decided.decision_id)
    code, _, said = review(
        shell, *(word.replace("{id}", known) for word in words), stdin=stdin.replace(b"{id}", known.encode())
    )
    stored = rows(database_url, "SELECT 1 FROM decision_reviews WHERE decision_id = %s", decided.decision_id)

    assert code == 2
    assert message in said
    assert stored == []


def test_an_unknown_decision_and_a_missing_review_are_said(shell: Shell, database_url: str) -> None:
    """Each is the row's error, and the exit code says that something was not done."""
    decided = ignored()
    record(database_url, decided)
    unknown = "01a20047-0dfa-71d7-8e88-c1d4329d1fb5"
    ends = [review(shell, unknown, "--verdict", "agree"), review(shell, str(decided.decision_id), "--undo")]

    assert [code for code, _, _ in ends] == [1, 1]
    assert ends[0][1][0]["error"].startswith("decision: expected the id of a stored one")
    assert "got none" in ends[1][1][0]["error"]
