"""A password that somebody gave opens no account that they do not administer."""

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

from cli.main import app
from db import people
from db.people import EVERY_ACCOUNT, Person, Role
from tests.reviewing import PASSWORD, Visitor, add_person, site, stored

Visitors = Callable[[], Visitor]
CHOSEN = "seven quiet herons at noon"
FIRST = re.compile(r"<code>([\w-]{16})</code>")


@pytest.fixture
def visitors(database_url: str) -> Iterator[Visitors]:
    """The application; call it for one more visitor."""
    with site(database_url) as running:
        yield running


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs ``hushgate review`` against the module's database: the row that it prints."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("HUSHGATE_REVIEW_URL", "https://127.0.0.1")

    def command(*words: str) -> dict[str, Any]:
        done = CliRunner().invoke(app, ["review", *words])
        assert done.exit_code == 0, done.output
        row: dict[str, Any] = json.loads(next(line for line in done.stdout.splitlines() if line[0] == "{"))
        return row

    return command


def at_work(visitors: Visitors, url: str, *roles: Role, account: str) -> Visitor:
    """Somebody signed in."""
    visitor = visitors()
    visitor.sign_in(add_person(url, *roles, account=account))
    visitor.get("/profile")
    return visitor


def by_login(url: str, login: str) -> Person:
    """A person as they are stored now."""
    found = stored(url, lambda each: people.by_login(each, login))
    assert found is not None
    return found.person


def enters(visitor: Visitor, login: str, password: str) -> bool:
    """Whether a password lets somebody in."""
    visitor.get("/sign-in")
    return visitor.post("/sign-in", login=login, password=password).status_code == 303


def first_of(response: Any) -> str:
    """The first password that a page shows."""
    found = FIRST.search(response.text)
    assert found is not None
    return found[1]


def taken_over(visitors: Visitors, admin: Visitor, login: str, account: str) -> tuple[Visitor, str]:
    """Somebody added by a hostile administrator, who then signs in as them and makes a key."""
    first = first_of(admin.post("/people", login=login, role="viewer", account=account))
    thief = visitors()
    assert enters(thief, login, first)
    thief.get("/profile/password")
    assert thief.post("/profile/password", current=first, new=CHOSEN, again=CHOSEN).status_code == 303
    thief.get("/profile/tokens")
    key = re.search(r"hg_[\w-]{40,}", thief.post("/profile/tokens", name="mine", days="365").text)
    assert key is not None
    return thief, key[0]


def ways_in(visitors: Visitors, thief: Visitor, key: str, login: str) -> list[str]:
    """Which of the thief's ways in still work."""
    headers = {"Authorization": f"Bearer {key}"}
    found = {
        "session": thief.get("/profile").status_code == 200,
        "key": visitors().get("/api/v1/decisions", headers=headers).status_code == 200,
        "password": enters(visitors(), login, CHOSEN),
    }
    return [name for name, works in found.items() if works]


@pytest.mark.parametrize("account", ["south", EVERY_ACCOUNT])
@pytest.mark.parametrize("page", ["add", "grant"])
def test_who_gave_a_password_does_not_come_along_to_another_account(
    visitors: Visitors, database_url: str, account: str, page: str
) -> None:
    """Neither with the first password, nor with what they made of it, nor with a session or a key."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    login = f"{page}-{'all' if account == EVERY_ACCOUNT else account}@example.org"
    thief, key = taken_over(visitors, admin, login, "north")
    assert ways_in(visitors, thief, key, login) == ["session", "key", "password"]
    person, wanted = by_login(database_url, login), {"role": "account_admin", "account": account}
    to = "/people" if page == "add" else f"/people/{person.person_id}/grant"
    given = boss.post(to, **({"login": login} if page == "add" else {}), **wanted)

    assert ways_in(visitors, thief, key, login) == []
    owner = visitors()
    assert enters(owner, login, first_of(given))
    assert owner.get("/").headers["location"] == "/profile/password"


@pytest.mark.parametrize("command", ["grant", "add-person"])
def test_the_command_line_gives_a_new_password_with_the_role_too(
    visitors: Visitors, database_url: str, run: Any, command: str
) -> None:
    """It prints it, once, and the old one is worth nothing."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    login = f"cli-{command}@example.org"
    thief, key = taken_over(visitors, admin, login, "north")
    row = run(command, login, "--role", "lead", "--account", "south")

    assert ways_in(visitors, thief, key, login) == []
    assert enters(visitors(), login, row["first_password"])
    assert "first_password" not in run(command, login, "--role", "auditor", "--account", "east")


def test_roles_where_the_giver_administers_change_no_password(visitors: Visitors, database_url: str) -> None:
    """On their own account, and anywhere when they administer every account: nobody is signed out."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    for giver, account in ((admin, "north"), (boss, "south")):
        login = f"kept-{account}@example.org"
        somebody, key = taken_over(visitors, giver, login, "north")
        person = by_login(database_url, login)
        given = boss.post(f"/people/{person.person_id}/grant", role="lead", account=account)

        assert given.status_code == 303
        assert ways_in(visitors, somebody, key, login) == ["session", "key", "password"]


def test_a_giver_who_was_disabled_since_administers_nothing(visitors: Visitors, database_url: str) -> None:
    """Whoever left the house still knows the passwords they gave."""
    leaver = add_person(database_url, Role.ACCOUNT_ADMIN)
    admin = visitors()
    admin.sign_in(leaver)
    admin.get("/profile")
    thief, key = taken_over(visitors, admin, "left@example.org", "north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    boss.post(f"/people/{leaver.person_id}/manage", what="disable")
    person = by_login(database_url, "left@example.org")
    boss.post(f"/people/{person.person_id}/grant", role="viewer", account="south")

    assert ways_in(visitors, thief, key, "left@example.org") == []


def test_a_giver_s_own_giver_is_asked_about_too(visitors: Visitors, database_url: str) -> None:
    """A thief who gave passwords as somebody else does not know them rightfully once that person rises."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    first = first_of(admin.post("/people", login="puppet@a.org", role="account_admin", account="north"))
    puppet = visitors()
    enters(puppet, "puppet@a.org", first)
    puppet.get("/profile/password")
    puppet.post("/profile/password", current=first, new=CHOSEN, again=CHOSEN)
    puppet.get("/profile")
    thief, key = taken_over(visitors, puppet, "second@a.org", "north")
    for login, role in (("puppet@a.org", "account_admin"), ("second@a.org", "viewer")):
        boss.post("/people", login=login, role=role, account=EVERY_ACCOUNT)

    assert ways_in(visitors, thief, key, "second@a.org") == []


def test_a_new_password_is_shown_only_to_who_may_give_one(visitors: Visitors, database_url: str) -> None:
    """Else a role on one's own account would open the accounts that the person has already."""
    north = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    south = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="south")
    thief, key = taken_over(visitors, north, "lured@example.org", "north")
    refused = south.post("/people", login="lured@example.org", role="viewer", account="south")

    assert refused.status_code == 403
    assert FIRST.search(refused.text) is None
    assert ways_in(visitors, thief, key, "lured@example.org") == ["session", "key", "password"]
    assert [each.user_id for each in by_login(database_url, "lured@example.org").grants] == ["north"]


def test_who_signs_in_elsewhere_loses_a_password_that_was_given(
    visitors: Visitors, database_url: str
) -> None:
    """They need none; and who never had one is left alone."""
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    thief, key = taken_over(visitors, admin, "linked@example.org", "north")
    admin.post("/people", login="never@example.org", role="viewer", account="north", no_password="on")
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE people SET oidc_issuer = 'i', oidc_subject = login WHERE login ~ '@example'"
        )
    given = [
        boss.post("/people", login=login, role="lead", account="south")
        for login in ("linked@example.org", "never@example.org")
    ]

    assert [FIRST.search(each.text) for each in given] == [None, None]
    assert ways_in(visitors, thief, key, "linked@example.org") == []
    for login in ("linked@example.org", "never@example.org"):
        assert not by_login(database_url, login).has_password
        assert not by_login(database_url, login).must_change_password


def test_disabling_and_enabling_keeps_no_way_in(visitors: Visitors, database_url: str) -> None:
    """Nor does a second first password, given before the role; afterwards the person is not theirs."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    person = add_person(database_url, Role.VIEWER, account="north")
    path = f"/people/{person.person_id}"
    first = first_of(admin.post(f"{path}/manage", what="password"))
    admin.post(f"{path}/manage", what="disable")
    boss.post(f"{path}/grant", role="lead", account="south")
    refused = [admin.post(f"{path}/manage", what=what).status_code for what in ("enable", "password")]
    boss.post(f"{path}/manage", what="enable")

    assert refused == [403, 403]
    assert not enters(visitors(), person.login, first)
    assert not enters(visitors(), person.login, PASSWORD)


@contextmanager
def meanwhile(url: str, statement: str, *values: object) -> Iterator[Callable[[], None]]:
    """Something that is changed and not committed yet; what is given waits until somebody waits for it."""
    with psycopg.connect(url) as connection, psycopg.connect(url, autocommit=True) as watch:
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('hushgate people'))")
        connection.execute(statement, values)
        pid = connection.info.backend_pid

        def until_waited_for() -> None:
            query = "SELECT 1 FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
            while watch.execute(query, (pid,)).fetchone() is None:
                pass

        yield until_waited_for


def test_a_password_given_while_somebody_else_gives_a_role_is_refused(
    visitors: Visitors, database_url: str
) -> None:
    """Of two changes at once, the second one sees what the first one made of the person."""
    admin = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account="north")
    person = add_person(database_url, Role.VIEWER, account="north")
    role = "INSERT INTO person_roles (person_id, user_id, role, granted_by) VALUES (%s, '*', 'lead', 'boss')"
    path = f"/people/{person.person_id}/manage"
    with ThreadPoolExecutor(1) as other:
        with meanwhile(database_url, role, person.person_id) as until_waited_for:
            asked = other.submit(admin.post, path, what="password")
            until_waited_for()

        assert asked.result().status_code == 403
    assert enters(visitors(), person.login, PASSWORD)


def test_a_sign_in_under_way_ends_with_the_password_it_was_judged_by(
    visitors: Visitors, database_url: str
) -> None:
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


def test_a_key_under_way_ends_with_the_session(visitors: Visitors, database_url: str) -> None:
    """Else it would be made just after all keys were ended."""
    person = add_person(database_url, Role.VIEWER, account="north")
    thief = visitors()
    thief.sign_in(person)
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
    admin = visitors()
    admin.sign_in(leaver)
    admin.get("/people")
    admin.post("/people", login="stays@example.org", role="viewer", account="north")
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    path = f"/people/{by_login(database_url, 'stays@example.org').person_id}"
    seen = [boss.get(path).text]
    boss.post(f"/people/{leaver.person_id}/revoke", role="account_admin", account="north")
    seen.append(boss.get(path).text)
    boss.post(f"{path}/manage", what="password")
    seen.append(boss.get(path).text)

    assert ["may still know it" in each for each in seen] == [False, True, False]


def test_whoever_disables_somebody_is_told_whose_passwords_they_gave(
    visitors: Visitors, database_url: str, run: Any
) -> None:
    """Else a leaver would come in as one of them."""
    boss = at_work(visitors, database_url, Role.ACCOUNT_ADMIN, account=EVERY_ACCOUNT)
    leaver = add_person(database_url, Role.ACCOUNT_ADMIN, account="north")
    admin = visitors()
    admin.sign_in(leaver)
    admin.get("/people")
    admin.post("/people", login="puppet@example.org", role="account_admin", account="north")
    path = f"/people/{leaver.person_id}"
    before = boss.get(path).text
    boss.post(f"{path}/manage", what="disable")
    after = boss.get(path).text
    run("enable", leaver.login)
    printed = CliRunner().invoke(app, ["review", "disable", leaver.login]).output

    assert ["puppet@example.org" in each for each in (before, after, printed)] == [False, True, True]
