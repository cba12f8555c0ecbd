"""A password opens no account that its giver does not administer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from cli.main import command_line
from db.people.records import EVERY_ACCOUNT, Person, Role
from tests.integration.test_invitations import accepted_as_new, find_person, invited, signs_in
from tests.support.reviewing import (
    PASSWORD,
    Visitor,
    Visitors,
    add_person,
    api_token,
    signed_in,
    token_status,
)

CHOSEN = "seven quiet herons at noon"
FIRST = re.compile(r"<code>([\w-]{16})</code>")


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs ``hushgate review`` against the module's database: the row that it prints."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("HUSHGATE_REVIEW_URL", "https://127.0.0.1")

    def command(*words: str) -> dict[str, Any]:
        done = CliRunner().invoke(command_line(["review"]), ["review", *words])
        assert done.exit_code == 0, done.output
        row: dict[str, Any] = json.loads(next(line for line in done.stdout.splitlines() if line[0] == "{"))
        return row

    return command


def at_work(visitors: Visitors, url: str, *roles: Role, account: str) -> Visitor:
    """A new person, signed in."""
    visitor = signed_in(visitors, add_person(url, *roles, account=account))
    visitor.get("/profile")
    return visitor


def first_of(response: Any) -> str:
    """The first password that a page shows."""
    found = FIRST.search(response.text)
    assert found is not None
    return found[1]


def joined(visitors: Visitors, admin: Visitor, login: str, account: str, role: str = "viewer") -> Visitor:
    """A visitor who uses the invitation of a new login, which the administrator has, too."""
    return accepted_as_new(visitors, invited(admin, login, account, role), login)[0]


def by_login(url: str, login: str) -> Person:
    """A person as they are stored now."""
    found = find_person(url, login)
    assert found is not None
    return found


def taken_over(visitors: Visitors, admin: Visitor, login: str, account: str) -> tuple[Visitor, str]:
    """A hostile administrator who uses their own invitation and makes an API token."""
    thief = joined(visitors, admin, login, account)
    return thief, api_token(thief)


def ways_in(visitors: Visitors, thief: Visitor, token: str, login: str) -> list[str]:
    """Which of session, API token and password still work for the thief."""
    found = {
        "session": thief.get("/profile").status_code == 200,
        "API token": token_status(visitors, token) == 200,
        "password": signs_in(visitors, login, CHOSEN),
    }
    return [name for name, works in found.items() if works]


@pytest.mark.parametrize("account", ["south", EVERY_ACCOUNT])
@pytest.mark.parametrize("page", ["add", "grant"])
def test_the_giver_of_a_password_gets_no_access_to_another_account(
    visitors: Visitors, database_url: str, account: str, page: str
) -> None:
    """Neither with the password, nor with a session or an API token."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    login = f"{page}-{'all' if account == EVERY_ACCOUNT else account}@example.org"
    thief, token = taken_over(visitors, admin, login, "north")
    assert ways_in(visitors, thief, token, login) == ["session", "API token", "password"]
    person, wanted = by_login(database_url, login), {"role": "account_admin", "account": account}
    to = "/people" if page == "add" else f"/people/{person.person_id}/grant"
    given = boss.post(to, **({"login": login} if page == "add" else {}), **wanted)

    assert ways_in(visitors, thief, token, login) == []
    owner = visitors()
    owner.get("/sign-in")
    assert owner.post("/sign-in", login=login, password=first_of(given)).status_code == 303
    assert owner.get("/").headers["location"] == "/profile/password"


@pytest.mark.parametrize("command", ["grant", "add-person"])
def test_the_command_line_gives_a_new_password_with_the_role_too(
    visitors: Visitors, database_url: str, run: Any, command: str
) -> None:
    """It prints the new password once, and the old one ends."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    login = f"cli-{command}@example.org"
    thief, token = taken_over(visitors, admin, login, "north")
    row = run(command, login, "--role", "lead", "--account", "south")

    assert ways_in(visitors, thief, token, login) == []
    assert signs_in(visitors, login, row["first_password"])
    assert "first_password" not in run(command, login, "--role", "auditor", "--account", "east")


def test_roles_where_the_inviter_administers_change_no_password(
    visitors: Visitors, database_url: str
) -> None:
    """The session, the API token and the password work on."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    visitor, token = taken_over(visitors, admin, "kept@example.org", "north")
    person = by_login(database_url, "kept@example.org")
    given = boss.post(f"/people/{person.person_id}/grant", role="lead", account="north")

    assert given.status_code == 303
    assert ways_in(visitors, visitor, token, "kept@example.org") == ["session", "API token", "password"]


def test_a_giver_who_was_disabled_since_administers_nothing(visitors: Visitors, database_url: str) -> None:
    """A person who left still knows the passwords they gave."""
    leaver = add_person(database_url, Role.ACCOUNT_ADMIN, account="north")
    admin = signed_in(visitors, leaver)
    admin.get("/profile")
    thief, token = taken_over(visitors, admin, "left@example.org", "north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    boss.post(f"/people/{leaver.person_id}/manage", what="disable")
    person = by_login(database_url, "left@example.org")
    boss.post(f"/people/{person.person_id}/grant", role="viewer", account="south")

    assert ways_in(visitors, thief, token, "left@example.org") == []


def test_passwords_given_by_a_puppet_count_as_the_puppeteer_s(visitors: Visitors, database_url: str) -> None:
    """When a person's password is replaced, passwords they gave are re-attributed to its giver."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    puppet = joined(visitors, admin, "puppet@a.org", "north", "account_admin")
    thief, token = taken_over(visitors, puppet, "second@a.org", "north")
    for login, role in (("puppet@a.org", "account_admin"), ("second@a.org", "viewer")):
        boss.post("/people", login=login, role=role, account=EVERY_ACCOUNT)

    assert ways_in(visitors, thief, token, "second@a.org") == []


def test_a_person_of_the_identity_provider_loses_a_password_that_was_given(
    visitors: Visitors, database_url: str
) -> None:
    """No first password takes its place."""
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    thief, token = taken_over(visitors, admin, "linked@example.org", "north")
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE people SET oidc_issuer = 'i', oidc_subject = login WHERE login ~ 'linked@example'"
        )
    given = boss.post("/people", login="linked@example.org", role="lead", account="south")

    assert FIRST.search(given.text) is None
    assert ways_in(visitors, thief, token, "linked@example.org") == []
    assert not by_login(database_url, "linked@example.org").has_password
    assert not by_login(database_url, "linked@example.org").must_change_password


@contextmanager
def meanwhile(url: str, statement: str, *values: object) -> Iterator[Callable[[], None]]:
    """An uncommitted change; call the value to wait until another transaction is blocked by it."""
    with psycopg.connect(url) as connection, psycopg.connect(url, autocommit=True) as watch:
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('hushgate people'))")
        connection.execute(statement, values)
        pid = connection.info.backend_pid

        def until_waited_for() -> None:
            query = "SELECT 1 FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
            while watch.execute(query, (pid,)).fetchone() is None:
                pass

        yield until_waited_for


def test_a_sign_in_in_progress_ends_with_its_password(visitors: Visitors, database_url: str) -> None:
    """Else its session would begin just after all sessions were ended."""
    person = add_person(database_url, Role.VIEWER, account="north")
    thief = visitors()
    thief.get("/sign-in")
    other_password = "UPDATE people SET password_hash = '' WHERE id = %s"
    with ThreadPoolExecutor(1) as other:
        with meanwhile(database_url, other_password, person.person_id) as until_waited_for:
            asked = other.submit(thief.post, "/sign-in", login=person.login, password=PASSWORD)
            until_waited_for()

        assert asked.result().status_code == 409
    assert thief.get("/profile").status_code == 303


def test_an_api_token_in_progress_ends_with_the_session(visitors: Visitors, database_url: str) -> None:
    """Else it would be made just after all API tokens were revoked."""
    person = add_person(database_url, Role.VIEWER, account="north")
    thief = signed_in(visitors, person)
    thief.get("/profile/tokens")
    cast_out = "DELETE FROM sessions WHERE person_id = %s"
    with ThreadPoolExecutor(1) as other:
        with meanwhile(database_url, cast_out, person.person_id) as until_waited_for:
            asked = other.submit(thief.post, "/profile/tokens", name="mine", days="365")
            until_waited_for()

        assert asked.result().status_code == 401
        assert "hg_" not in asked.result().text


def test_an_account_s_auditors_read_what_was_done_about_their_people(
    visitors: Visitors, database_url: str, run: Any
) -> None:
    """From the pages and from the command line; on each of the person's accounts, and on no other."""
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    person = add_person(database_url, Role.VIEWER, account="west")
    path = f"/people/{person.person_id}"
    boss.post(f"{path}/grant", role="viewer", account="far west")
    for what in ("password", "disable"):
        boss.post(f"{path}/manage", what=what)
    run("enable", person.login)
    run("sign-in-link", person.login)
    seen = {}
    for account in ("west", "far west", "east"):
        auditor = at_work(visitors, database_url, Role.AUDITOR, account=account)
        log = auditor.get("/access-log?action=people").text
        wanted = ("password reset", "disabled", "enabled", "sign-in link")
        seen[account] = [each for each in wanted if each in log] if person.login in log else []

    everything = ["password reset", "disabled", "enabled", "sign-in link"]
    assert seen == {"west": everything, "far west": everything, "east": []}


def test_the_log_says_that_a_password_was_replaced_with_a_role(visitors: Visitors, database_url: str) -> None:
    """To auditors of every account concerned, with what ended."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    taken_over(visitors, admin, "told@example.org", "north")
    boss.post("/people", login="told@example.org", role="lead", account="south")
    with psycopg.connect(database_url) as connection:
        lines = connection.execute(
            "SELECT user_id, detail ->> 'sessions_ended', detail ->> 'keys_revoked' FROM access_log"
            " WHERE detail ->> 'changed' = 'password replaced with the role'"
            " AND detail ->> 'login' = 'told@example.org' ORDER BY user_id"
        ).fetchall()

    assert lines == [("north", "1", "1"), ("south", "1", "1")]


def test_administrators_see_whose_password_a_leaver_may_still_know(
    visitors: Visitors, database_url: str
) -> None:
    """On the person's page, until they give a new first password."""
    leaver = add_person(database_url, Role.ACCOUNT_ADMIN, account="north")
    admin = signed_in(visitors, leaver)
    joined(visitors, admin, "stays@example.org", "north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    path = f"/people/{by_login(database_url, 'stays@example.org').person_id}"
    seen = [boss.get(path).text]
    boss.post(f"/people/{leaver.person_id}/revoke", role="account_admin", account="north")
    seen.append(boss.get(path).text)
    boss.post(f"{path}/manage", what="password")
    seen.append(boss.get(path).text)

    assert ["may still know the password" in each for each in seen] == [False, True, False]


def test_disabling_a_person_names_whose_passwords_they_may_know(
    visitors: Visitors, database_url: str, run: Any
) -> None:
    """Else a leaver could sign in as one of them."""
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    leaver = add_person(database_url, Role.ACCOUNT_ADMIN, account="north")
    admin = signed_in(visitors, leaver)
    joined(visitors, admin, "puppet@example.org", "north", "account_admin")
    path = f"/people/{leaver.person_id}"
    before = boss.get(path).text
    boss.post(f"{path}/manage", what="disable")
    after = boss.get(path).text
    run("enable", leaver.login)
    printed = CliRunner().invoke(command_line(["review"]), ["review", "disable", leaver.login]).output

    assert ["puppet@example.org" in each for each in (before, after, printed)] == [False, True, True]
