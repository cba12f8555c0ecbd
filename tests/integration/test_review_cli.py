"""``hushgate review``: people at the command line, before any person can sign in."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import command_line
from tests.support.reviewing import site


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command against the module's database: exit code, rows, everything that was printed."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("HUSHGATE_REVIEW_URL", "https://127.0.0.1")

    def command(*words: str) -> tuple[int, list[dict[str, Any]], str]:
        done = CliRunner().invoke(command_line(["review"]), ["review", *words])
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return done.exit_code, rows, done.output

    return command


def test_the_first_admin_comes_in_with_what_the_command_printed(run: Any, database_url: str) -> None:
    """And has to choose another password."""
    code, rows, _ = run("add-person", "Kim@Example.org", "--role", "account_admin")
    assert code == 0
    with site(database_url) as visitor:
        kim = visitor()
        kim.get("/sign-in")
        done = kim.post("/sign-in", login="kim@example.org", password=rows[0]["first_password"])

        assert done.status_code == 303
        assert kim.get("/people").headers["location"] == "/profile/password"


def test_a_link_from_the_command_line_signs_in_once(run: Any, database_url: str) -> None:
    """The address that is printed is the page with the button."""
    run("add-person", "lee", "--role", "viewer", "--no-password")
    _, rows, _ = run("sign-in-link", "lee")
    path = rows[0]["link"].removeprefix("https://127.0.0.1")
    token = re.sub(r".*token=", "", path)
    with site(database_url) as visitor:
        lee = visitor()

        assert lee.get(path).status_code == 200
        assert lee.post("/sign-in/link", token=token).status_code == 303
        assert lee.get("/profile").status_code == 200


def test_roles_and_access_are_given_and_taken(run: Any) -> None:
    """Each change is one line, and the list shows it."""
    run("add-person", "sam", "--role", "viewer", "--account", "shop")
    run("grant", "sam", "--role", "reviewer", "--account", "shop")
    run("revoke", "sam", "--role", "viewer", "--account", "shop")
    assert run("list", "--account", "shop")[1][-1]["roles"] == "reviewer on shop"

    for command, state in (("disable", "disabled"), ("enable", "first password")):
        assert run(command, "sam")[0] == 0
        assert next(row for row in run("list")[1] if row["login"] == "sam")["state"] == state
    for command in ("unlock", "sign-out", "reset-password"):
        assert run(command, "sam")[0] == 0
    assert "first_password" in run("reset-password", "sam")[1][0]


def test_the_last_administrator_is_not_taken_away(run: Any) -> None:
    """The command says what to do instead, and changes nothing."""
    run("add-person", "kim@example.org", "--role", "account_admin")
    for words in (("disable",), ("revoke", "--role", "account_admin")):
        code, _, output = run(words[0], "kim@example.org", *words[1:])
        assert code != 0
        assert "last administrator" in output
