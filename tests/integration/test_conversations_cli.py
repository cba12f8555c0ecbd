"""``hushgate conversations``: list, take and release, through the console script."""

from __future__ import annotations

import pytest

from cli.exit_codes import ExitCode
from db.commits.record import record_decision
from tests.support.audited import replied
from tests.support.pools import in_pool
from tests.support.terminal import Shell
from worker.model import Decision


def decided(url: str, **changes: str) -> Decision:
    """A stored decision in a conversation of its own."""
    made = replied(**changes)
    in_pool(url, lambda source: record_decision(source, made), role=None)
    return made


def test_a_conversation_is_taken_listed_and_released(shell: Shell, database_url: str) -> None:
    """Each command prints the owner; the list holds what people own, of the account that was asked for."""
    about = decided(database_url, user_id="cli-shop").event
    words = (about.user_id, about.conversation_id)
    taken = shell.run("conversations", "take", *words)
    listed = shell.run("conversations", "list", "--account", about.user_id)
    elsewhere = shell.run("conversations", "list", "--account", "another-shop")
    released = shell.run("conversations", "release", *words)
    again = shell.run("conversations", "release", *words)
    empty = shell.run("conversations", "list", "--account", about.user_id)

    assert (taken.code, listed.code, released.code, empty.code) == (0, 0, 0, 0)
    (row,) = taken.rows
    assert (row["user_id"], row["conversation_id"]) == words
    assert (row["owner"], row["cause"], row["changes"]) == ("people", "command", 1)
    assert listed.rows == taken.rows
    assert (elsewhere.rows, empty.rows) == ([], [])
    assert [(each["owner"], each["cause"]) for each in released.rows] == [("ai", "release")]
    assert (again.code, again.out) == (ExitCode.NEGATIVE, "")
    assert "expected one that people own" in again.err


@pytest.mark.parametrize(
    ("command", "said"), [("take", "no event of 'never seen' is stored"), ("release", "which the AI owns")]
)
def test_a_conversation_that_is_not_known_ends_with_1(shell: Shell, command: str, said: str) -> None:
    """A mistyped id is an error, not a takeover of nothing."""
    ended = shell.run("conversations", command, "cli-shop", "never seen")

    assert (ended.code, ended.out) == (ExitCode.NEGATIVE, "")
    assert said in ended.err


def test_taking_twice_keeps_the_first_takeover(shell: Shell, database_url: str) -> None:
    """The owner does not change, only the time until which it lasts."""
    about = decided(database_url, user_id="twice-shop").event
    words = (about.user_id, about.conversation_id)
    first, second = (shell.run("conversations", "take", *words).rows[0] for _ in range(2))

    assert (first["changes"], second["changes"]) == (1, 1)
    assert first["changed_at"] == second["changed_at"]
    assert first["people_until"] < second["people_until"]


def test_a_terminal_gets_a_table(shell: Shell, database_url: str) -> None:
    """With a head, and without codes that a terminal obeys."""
    about = decided(database_url, user_id="table-shop", conversation_id="\x1b[2Jtalk").event
    shell.run("conversations", "take", about.user_id, about.conversation_id)
    shown = shell.on_terminal("conversations", "list", "--account", about.user_id, columns=200)

    assert '"user_id"' not in shown.out  # as in a pipe
    assert "conversation" in shown.out
    assert "people" in shown.out
    assert "[2Jtalk" in shown.out  # with the code itself it would be missing
