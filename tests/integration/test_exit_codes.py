"""One closed set of exit codes: the same kind of error ends every command with the same code."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import psycopg
import pytest
from redis import Redis

from cli import main as command_line
from cli.exit_codes import ExitCode
from cli.stack import Stack
from tests.conftest import create_database, database_at
from tests.support.samples import body_of
from tests.support.terminal import Shell, shell_at

UNKNOWN_ID = "018f0000-0000-7000-8000-000000000000"
AWAY = {"DATABASE_URL": "postgresql://u:hunter2@127.0.0.1:1/x", "REDIS_URL": "redis://:hunter2@127.0.0.1:1/0"}
UNSET = {"DATABASE_URL": None, "REDIS_URL": None}
EXPORT = ("decisions", "export", "-o", "new.csv")
ON_SERVERS = (
    ("decisions", "list"),
    ("decisions", "show", UNKNOWN_ID),
    ("decisions", "tail"),
    EXPORT,
    ("decisions", "review", UNKNOWN_ID, "--ruling", "agree"),
    ("conversations", "list"),
    ("conversations", "take", "acme", "c"),
    ("conversations", "release", "acme", "c"),
    ("dead-letters", "list"),
    ("dead-letters", "retry", "1-1"),
    ("accounts", "show", "acme"),
    ("accounts", "set", "acme", "--file", "-"),
    ("accounts", "preset", "open", "--account", "acme"),
    ("documents", "list", "--account", "acme"),
    ("documents", "search", "x", "--account", "acme"),
    ("documents", "remove", "1", "--account", "acme"),
    ("documents", "add", "rows.jsonl", "--account", "acme"),
    ("documents", "reembed"),
    ("rules", "test", "--account", "acme", "--text", "x"),
    ("rules", "import", "rules.txt", "--account", "acme"),
    ("rules", "export", "--account", "acme"),
    ("assess", "metrics"),
    ("review", "list"),
    ("review", "add-person", "kim", "--role", "viewer"),
    ("review", "sign-in-link", "kim"),
    ("migrate",),
    ("publish", "events.ndjson"),
)
"""Every command that needs a server, with what it reads in place."""


@pytest.fixture
def shell(database_url: str, redis_url: str, tmp_path: Path) -> Shell:
    """A shell whose servers run, in a folder with a file of each kind."""
    event = body_of("e")
    files = {
        "events.ndjson": json.dumps(event),
        "bad.ndjson": json.dumps(event | {"scope": "mail"}),
        "rows.jsonl": '{"id": "a", "context": "c", "response": "r"}',
        "bad_rows.jsonl": '{"id": "a"}',
        "rules.txt": "spam",
        "bad_rules.txt": "/(/",
        "not_rules.json": '"spam"',
        "old.csv": "kept",
        "deep.json": "[" * 100_000,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n")
    return shell_at(
        tmp_path,
        DATABASE_URL=database_url,
        REDIS_URL=redis_url,
        OPENAI_API_KEY="k",
        OPENROUTER_API_KEY="k",
    )


@pytest.mark.parametrize("words", ON_SERVERS, ids=" ".join)
def test_a_server_that_is_away_ends_with_4(shell: Shell, words: tuple[str, ...]) -> None:
    """In one line without the password, and nothing on standard output."""
    env = AWAY | {"HUSHGATE_EMBEDDINGS": "hash", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    ended = shell.run(*words, stdin=b"{}", env=env)

    assert (ended.code, ended.out, len(ended.err.splitlines())) == (ExitCode.UNAVAILABLE, "", 1)
    assert "hunter2" not in ended.err


@pytest.mark.parametrize("words", [*ON_SERVERS, ("worker",), ("beat",), ("config", "show")], ids=" ".join)
def test_a_variable_that_is_missing_ends_with_3(shell: Shell, words: tuple[str, ...]) -> None:
    """The error names the variable."""
    ended = shell.run(*words, stdin=b"{}", env=UNSET)

    assert ended.code == ExitCode.CONFIGURATION
    assert "_URL: expected a value, got nothing" in ended.err


@pytest.mark.parametrize(
    "words", [("decisions", "list"), ("accounts", "show", "acme"), ("dead-letters", "list")], ids=" ".join
)
def test_a_database_without_tables_ends_with_3(shell: Shell, stack: Stack, words: tuple[str, ...]) -> None:
    """A missing migration is the deployment's error, not an outage."""
    name = f"hushgate_bare_{words[0]}"
    create_database(stack.database_url, name)
    ended = shell.run(*words, env={"DATABASE_URL": database_at(stack.database_url, name)})

    assert (ended.code, ended.out) == (ExitCode.CONFIGURATION, "")
    assert ended.err.startswith("Postgres: ")


LONG_NAME = "x" * 300
USAGE = (
    ("nonsense",),
    ("decisions", "list", "--colour"),
    ("decisions", "list", "--since", "yesterday"),
    ("decisions", "list", "--cursor", "abc"),
    ("decisions", "list", "--limit", "0"),
    ("decisions", "show", "nope"),
    ("decisions", "review", "nope", "--ruling", "agree"),
    ("decisions", "review", UNKNOWN_ID),
    ("decisions", "export", "-o", "old.csv"),
    ("decisions", "export", "-o", "no/such/folder.csv"),
    ("publish", "none.ndjson"),
    ("publish", "."),
    ("accounts", "set", "acme", "--file", "none.json"),
    ("documents", "list"),
    ("rules", "test", "--keyword", "x"),
    ("rules", "validate", "none.txt"),
    ("rules", "import", "none.txt"),
    ("rules", "match", "--cases", "none.jsonl"),
    ("assess",),
    ("assess", "--cases", "none.jsonl"),
    ("assess", "--cases", "rows.jsonl", "--policy", "magic"),
    ("schema", "decision"),
    ("doctor", "--offline", "--live"),
    ("repair", "--older-than", "inf"),
    ("documents", "add", LONG_NAME, "--account", "acme"),
    ("assess", "conversations", LONG_NAME),
    ("assess", "conversations", ".", "--policy", "deep.json"),
)


@pytest.mark.parametrize("words", USAGE, ids=" ".join)
def test_a_wrong_command_line_ends_with_2(shell: Shell, words: tuple[str, ...]) -> None:
    """Including a file that cannot be opened or that exists; nothing on standard output."""
    ended = shell.run(*words)

    assert (ended.code, ended.out) == (ExitCode.USAGE, "")
    assert (shell.folder / "old.csv").read_text() == "kept\n"


REJECTED: tuple[tuple[tuple[str, ...], bytes], ...] = (
    (("publish", "bad.ndjson"), b""),
    (("accounts", "set", "acme", "--file", "-"), b"nonsense"),
    (("accounts", "set", "acme", "--file", "-"), b"[]"),
    (("accounts", "set", "acme", "--file", "-"), b'{"colour": 1}'),
    (("accounts", "set", "acme", "--file", "-"), b'{"flagged_keywords": ["/(/"]}'),
    (("decisions", "review", "-", "--ruling", "agree"), b""),
    (("decisions", "review", "-", "--ruling", "agree"), b"nonsense"),
    (("decisions", "review", "-"), b'{"id": "018f0000-0000-7000-8000-000000000000", "ruling": ["agree"]}'),
    (("rules", "import", "bad_rules.txt"), b""),
    (("rules", "import", "bad_rules.txt", "--account", "acme"), b""),
    (("rules", "import", "not_rules.json"), b""),
    (("rules", "validate", "not_rules.json"), b""),
    (("assess", "--cases", "bad_rows.jsonl"), b""),
    (("assess", "report", "--cases", "rows.jsonl"), b""),
    (("assess", "--cases", "deep.json"), b""),
)


@pytest.mark.parametrize(("words", "stdin"), REJECTED, ids=lambda value: str(value)[:60])
def test_input_that_is_rejected_ends_with_5(shell: Shell, words: tuple[str, ...], stdin: bytes) -> None:
    """Nothing was changed: the account has no version, the stream no entry."""
    ended = shell.run(*words, stdin=stdin)

    assert ended.code == ExitCode.REJECTED
    assert shell.run("accounts", "show", "acme").rows[0]["version"] == 0
    with Redis.from_url(shell.environment["REDIS_URL"]) as redis:
        assert redis.xlen("hushgate:events") == 0


NEGATIVE: tuple[tuple[str, ...], ...] = (
    ("decisions", "show", UNKNOWN_ID),
    ("decisions", "review", UNKNOWN_ID, "--ruling", "agree"),
    ("dead-letters", "retry", "9-9"),
    ("documents", "remove", "999", "--account", "acme"),
    ("documents", "show", "999", "--account", "acme"),
    ("documents", "release", "999", "--account", "acme"),
    ("documents", "add", "none.md", "--account", "acme"),
    ("rules", "validate", "bad_rules.txt"),
    ("rules", "match", "--cases", "bad_rows.jsonl"),
    ("review", "disable", "nobody"),
    ("review", "grant", "nobody", "--role", "viewer"),
    ("review", "reset-password", "nobody"),
    ("review", "sign-in-link", "nobody"),
    ("doctor", "--offline"),
)


@pytest.mark.parametrize("words", NEGATIVE, ids=" ".join)
def test_a_negative_result_ends_with_1(shell: Shell, words: tuple[str, ...]) -> None:
    """What was asked for is not there, or one of several items failed; the command says so."""
    env = {"REDIS_URL": "redis://127.0.0.1:1/0"} if words[0] == "doctor" else {}
    ended = shell.run(*words, env=env)

    assert ended.code == ExitCode.NEGATIVE
    assert ended.out + ended.err


def test_a_defect_is_a_traceback_and_ends_with_6(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python itself would end with 1, which is a negative result here."""

    def broken(**_: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(command_line, "command_line", lambda names: broken)
    ended = shell.run("decisions", "list")

    assert (ended.code, ended.out) == (ExitCode.DEFECT, "")
    assert "KeyError: 'a defect'" in ended.err


def test_every_command_on_servers_succeeds_where_they_run(shell: Shell) -> None:
    """The table of failures is about servers, not about its own command lines."""
    for words in (("decisions", "list"), ("dead-letters", "list"), ("publish", "events.ndjson"), EXPORT):
        assert shell.run(*words).code == ExitCode.OK


# --- files that commands write

ROWS = Path(__file__).parents[1] / "fixtures" / "assessment" / "ragtruth_sample.jsonl"
WRITERS = (
    ("decisions", "export", "-o", "old.csv"),
    ("assess", "report", "--cases", str(ROWS), "--plot", "old.csv"),
)


@pytest.mark.parametrize("words", WRITERS, ids=lambda words: " ".join(words[:2]))
def test_no_file_is_overwritten_in_silence(shell: Shell, words: tuple[str, ...]) -> None:
    """The error names the file and the option."""
    ended = shell.run(*words)

    assert (ended.code, ended.err) == (ExitCode.USAGE, "old.csv: the file exists; --force overwrites it\n")
    assert (shell.folder / "old.csv").read_text() == "kept\n"


@pytest.mark.parametrize("words", WRITERS, ids=lambda words: " ".join(words[:2]))
def test_a_file_is_overwritten_when_asked_for(shell: Shell, words: tuple[str, ...]) -> None:
    """With --force."""
    ended = shell.run(*words, "--force")

    assert ended.code == ExitCode.OK
    assert "kept" not in (shell.folder / "old.csv").read_text()


def test_a_file_that_a_failed_command_began_is_removed(shell: Shell) -> None:
    """An incomplete export does not look like a whole one."""
    ended = shell.run(*EXPORT, env=AWAY)

    assert ended.code == ExitCode.UNAVAILABLE
    assert not (shell.folder / "new.csv").exists()


def test_a_device_is_written_to_as_it_is(shell: Shell) -> None:
    """/dev/null is there before and after."""
    ended = shell.run("decisions", "export", "--format", "csv", "-o", os.devnull)

    assert ended.code == ExitCode.OK
    assert Path(os.devnull).is_char_device()


def test_a_full_disk_behind_standard_output_is_no_defect(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line that names it."""

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(command_line, "command_line", lambda names: full)
    ended = shell.run("decisions", "list")

    assert (ended.code, ended.err) == (ExitCode.USAGE, "standard output: No space left on device\n")


def test_a_folder_is_no_file(shell: Shell) -> None:
    """One line with what it is."""
    ended = shell.run("decisions", "export", "--format", "csv", "-o", ".")

    assert (ended.code, ended.err) == (ExitCode.USAGE, ".: Is a directory\n")


def test_the_right_to_read_is_the_deployments_matter(shell: Shell, database_url: str) -> None:
    """A login without rights ends with 3, and the line says that it is the wrong one."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE hushgate_without_rights LOGIN PASSWORD 'x'")
    try:
        ended = shell.run("decisions", "list", env={"PGOPTIONS": "-c role=hushgate_without_rights"})
    finally:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("DROP ROLE hushgate_without_rights")

    assert ended.code == ExitCode.CONFIGURATION
    assert "permission denied" in ended.err
    assert ended.err.endswith("(DATABASE_URL has another login than this command needs)\n")
