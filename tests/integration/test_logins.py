"""Logins of the services: created by one command, enough for the work, and too little for anything else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from httpx2 import Response
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from structlog.testing import capture_logs

from cli.stack import Stack
from db.people.api_tokens import TokenScope
from db.schema import logins, migrate
from db.schema.logins import LOGINS, LoginState, Service
from db.schema.rights import SessionLogin, session_login
from sandbox.server import SandboxHandle
from tests.conftest import create_database
from tests.support.browser.serving import serving
from tests.support.fleet_signs import sign_fleet
from tests.support.pools import in_pool
from tests.support.publishing import checking_gateway, token
from tests.support.running import OPEN, eventually, running, settings_of, store_account
from tests.support.terminal import Shell
from worker.account_settings import changed
from worker.errors import ConfigurationError
from worker.model import Account

Rows = psycopg.Connection[dict[str, Any]]
PASSWORDS = {
    "HUSHGATE_DB_WORKER_PASSWORD": "worker-secret",
    "HUSHGATE_DB_REVIEW_PASSWORD": "review-secret",
    "HUSHGATE_DB_AUDIT_PASSWORD": "audit-secret",
    "HUSHGATE_DB_GATEWAY_PASSWORD": "gateway-secret",
}
OWN = """
    SELECT r.rolname AS login, r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication
               OR r.rolbypassrls AS more,
           (SELECT array_agg(role ORDER BY role) FROM (SELECT m.roleid::regrole::text AS role
            FROM pg_auth_members m WHERE m.member = r.oid) AS held) AS roles
    FROM pg_roles r WHERE r.rolname = ANY(%s) ORDER BY r.rolname
"""


@pytest.fixture
def without_logins(owner: Rows) -> None:
    """A server on which the logins do not exist yet."""
    for name in LOGINS.values():
        owner.execute(f"DROP ROLE IF EXISTS {name}")


def service_url(url: str, service: Service) -> str:
    """The database as the login of a service, which exists afterwards."""
    logins.ensure(url, {})
    return logins.url_of(url, LOGINS[service], "unused")


def look(url: str) -> SessionLogin:
    """What the login of a URL is."""
    return in_pool(url, session_login, role=None)


@pytest.mark.usefixtures("without_logins")
def test_one_command_creates_the_logins_and_prints_each_url_once(shell: Shell, owner: Rows) -> None:
    """The second time nothing changes, and no password is printed."""
    first, second = (shell.run("migrate", "--create-logins").rows[1:] for _ in range(2))
    created = owner.execute(OWN, (list(LOGINS.values()),)).fetchall()

    assert [(row["login"], row["state"]) for row in first] == [
        ("hushgate_worker_login", "created"),
        ("hushgate_review_login", "created"),
        ("hushgate_audit_login", "created"),
        ("hushgate_gateway_login", "created"),
    ]
    for row in first:
        url = urlsplit(row["database_url"])
        assert (url.username, len(url.password or "")) == (row["login"], 48)
        with psycopg.connect(row["database_url"]) as connection:
            assert connection.execute("SELECT session_user").fetchone() == (row["login"],)
    assert [(row["state"], row["database_url"]) for row in second] == [("kept", None)] * 4
    assert created == [
        {"login": "hushgate_audit_login", "more": False, "roles": ["hushgate_audit"]},
        {"login": "hushgate_gateway_login", "more": False, "roles": ["hushgate_gateway"]},
        {"login": "hushgate_review_login", "more": False, "roles": ["hushgate_reviewer"]},
        {"login": "hushgate_worker_login", "more": False, "roles": ["hushgate_worker"]},
    ]


@pytest.mark.usefixtures("without_logins")
def test_passwords_come_from_the_environment_and_can_be_changed(shell: Shell, owner: Rows) -> None:
    """A given password is set each time, stored hashed, and never printed."""
    stored = "SELECT rolname, rolpassword FROM pg_authid WHERE rolname = ANY(%s) ORDER BY rolname"
    first = shell.run("migrate", "--create-logins", env=PASSWORDS)
    before = owner.execute(stored, (list(LOGINS.values()),)).fetchall()
    second = shell.run("migrate", "--create-logins", env={"HUSHGATE_DB_WORKER_PASSWORD": "another"})
    after = owner.execute(stored, (list(LOGINS.values()),)).fetchall()

    assert [row["state"] for row in first.rows[1:] + second.rows[1:]] == [
        *("created", "created", "created", "created"),
        *("password set", "kept", "kept", "kept"),
    ]
    assert not any(
        word in ended.out + ended.err for ended in (first, second) for word in ("secret", "another")
    )
    assert all(row["rolpassword"].startswith("SCRAM-SHA-256$") for row in before)
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, True, True, False]


def test_a_login_that_may_not_create_roles_is_one_clear_line(database_url: str, owner: Rows) -> None:
    """It says which rights are missing, and nothing was created."""
    owner.execute("DROP ROLE IF EXISTS hushgate_test_plain")
    owner.execute("CREATE ROLE hushgate_test_plain LOGIN")
    try:
        with pytest.raises(ConfigurationError, match="CREATEROLE"):
            logins.ensure(make_conninfo(database_url, user="hushgate_test_plain"), {Service.WORKER: "x"})
    finally:
        owner.execute("DROP ROLE hushgate_test_plain")


def test_temporary_tables_are_taken_from_public_again(stack: Stack) -> None:
    """A restored dump has the rights of a new database."""
    url = create_database(stack.database_url, "hushgate_restored")
    migrate.upgrade(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("GRANT TEMPORARY ON DATABASE hushgate_restored TO PUBLIC")
    before = look(url).public_temp
    done = logins.ensure(url, {})

    assert {each.service for each in done} == set(Service)
    assert all(each.state in set(LoginState) for each in done)
    assert (before, look(url).public_temp) == (True, False)


@pytest.mark.parametrize(
    "query", ["", "?host=%2Ftmp%2Fx", "?host=%2Ftmp%2Fx&user=postgres&password=old&sslmode=disable"]
)
@pytest.mark.parametrize("place", ["postgres:@", "owner:old@db:5432", "db"])
def test_the_url_of_a_login_names_the_same_place(place: str, query: str) -> None:
    """User and password are replaced wherever the URL names them."""
    before = f"postgresql://{place}/hushgate{query}"
    old, new = (conninfo_to_dict(url) for url in (before, logins.url_of(before, "kim", "p@ss/w:rd")))

    assert (new.pop("user"), new.pop("password")) == ("kim", "p@ss/w:rd")
    assert new == {name: value for name, value in old.items() if name not in {"user", "password"}}


def test_a_worker_works_with_its_own_login(
    database_url: str, redis_url: str, sandbox: SandboxHandle, owner: Rows
) -> None:
    """It decides and delivers, and its log has no warning about rights."""
    url = service_url(database_url, Service.WORKER)
    with capture_logs() as logs, running(database_url, redis_url, sandbox, DATABASE_URL=url) as engine:
        user_id = engine.account(documents={"Hours": ["We are open from nine to six on weekdays."]})
        event_id = engine.publish(user_id, "When are you open on weekdays?")
        decided = engine.decided(user_id, event_id)
        if decided["decision"] == "respond":
            eventually(lambda: engine.reply(user_id, event_id), "the reply")

    assert decided["reason_code"]
    assert not [each for each in logs if each["event"] == "login_has_owner_rights"]
    assert look(url) == SessionLogin(name=LOGINS[Service.WORKER], excess=(), public_temp=False)


def test_a_gateway_makes_checks_after_migrate_gave_its_login_the_rights(
    database_url: str, redis_url: str, sandbox: SandboxHandle, shell: Shell, owner: Rows
) -> None:
    """Before, it says that they are missing; workers have no rights of the gateway for it."""
    url, key = service_url(database_url, Service.GATEWAY), token(database_url, TokenScope.CHECK)
    asyncio.run(store_account(database_url, changed(Account(user_id="checked", version=0), OPEN)))

    def asked() -> Response:
        body, sent = {"user_id": "checked", "message": "Hello"}, {"Authorization": f"Bearer {key}"}
        with checking_gateway(settings_of(url, redis_url, sandbox)) as client:
            return client.post("/v1/checks", json=body, headers=sent)

    before = asked()
    shell.run("migrate", "--gateway-checks")
    try:
        after = asked()
    finally:
        owner.execute("REVOKE hushgate_worker FROM hushgate_gateway_login")

    assert (before.status_code, after.status_code) == (503, 200)
    assert "lacks the role hushgate_worker" in before.json()["detail"]
    assert after.json()["reason_code"] == "MESSAGE_CHECKED"


def test_a_worker_that_logs_in_as_the_owner_says_so(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """One warning at start names the login and its rights."""
    with capture_logs() as logs, running(database_url, redis_url, sandbox):
        eventually(
            lambda: [each for each in logs if each["event"] == "login_has_owner_rights"], "the warning"
        )
    warned = [each for each in logs if each["event"] == "login_has_owner_rights"]

    assert warned == [
        {
            "event": "login_has_owner_rights",
            "log_level": "warning",
            "login": "postgres",
            "rights": ["superuser", "owner of ai_decisions", "may create roles"],
        }
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT password_hash FROM people",
        "SELECT secret FROM second_factors",
        "SELECT token_hash FROM sessions",
        "SELECT text FROM messages",
        "UPDATE api_tokens SET scopes = '{publish}'",
        "INSERT INTO person_roles (person_id, user_id, role) VALUES (gen_random_uuid(), '*', 'owner')",
        "SELECT id FROM ai_decisions",
        "SELECT person FROM access_log",
        "INSERT INTO access_log (at, action, person) VALUES ('2000-01-01', 'read', 'another')",
    ],
)
def test_a_stolen_gateway_login_reads_whose_a_token_is_and_no_more(database_url: str, statement: str) -> None:
    """The process that faces programs cannot read passwords or second factors, nor grant roles."""
    with psycopg.connect(service_url(database_url, Service.GATEWAY), autocommit=True) as connection:
        connection.execute("SELECT id, login, has_password, second_factor, grants FROM token_owners")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)


def test_the_review_server_says_when_it_logs_in_as_the_owner(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """The warning comes at start, and not with the login of the review pages."""
    log, own = tmp_path / "log", tmp_path / "own"
    with serving(database_url, redis_url, log):
        eventually(lambda: "login_has_owner_rights" in log.read_text(), "the warning")
    url = service_url(database_url, Service.REVIEW)
    with serving(url, redis_url, own):
        pass

    assert "owner of ai_decisions" in log.read_text()
    assert "login_has_owner_rights" not in own.read_text()
    assert look(url) == SessionLogin(name=LOGINS[Service.REVIEW], excess=(), public_temp=False)


def test_the_doctor_warns_of_an_owner_s_login(shell: Shell, owner: Rows, database_url: str) -> None:
    """The line names the login, its rights and the command that creates others."""
    name = urlsplit(database_url).path.removeprefix("/")
    owner.execute(f"GRANT TEMPORARY ON DATABASE {name} TO PUBLIC")
    found = {row["check"]: row for row in shell.run("doctor", "--offline").rows}

    assert found["database login"]["state"] == "warn"
    assert "postgres: superuser, owner of ai_decisions" in found["database login"]["found"]
    assert "hushgate migrate --create-logins" in found["database login"]["fix"]
    assert found["temporary tables"]["state"] == "warn"


def test_the_doctor_checks_everything_with_the_login_of_the_review_pages(
    shell: Shell, stack: Stack, template: str
) -> None:
    """It may read the whole audit, so nothing is left unchecked."""
    sign_fleet(shell.environment["REDIS_URL"])
    url = service_url(
        create_database(stack.database_url, "hushgate_doctor_of_pages", template), Service.REVIEW
    )
    ended = shell.run("doctor", "--offline", env={"DATABASE_URL": url})
    found = {row["check"]: row for row in ended.rows}

    assert ended.code == 0, ended.out
    assert found["database login"]["state"] == "ok"
    assert found["worker role"]["found"] == "hushgate_reviewer"
    assert "accepted" in found["conservation"]["found"]


def test_the_doctor_says_what_the_login_of_a_worker_cannot_check(shell: Shell, database_url: str) -> None:
    """A worker may not read the audit: that is a warning and no failure."""
    sign_fleet(shell.environment["REDIS_URL"])
    url = service_url(database_url, Service.WORKER)
    ended = shell.run("doctor", "--offline", env={"DATABASE_URL": url})
    found = {row["check"]: row for row in ended.rows}

    assert ended.code == 0, ended.out
    assert (found["database login"]["state"], found["conservation"]["state"]) == ("ok", "warn")
    assert "login of the review pages" in found["conservation"]["fix"]
    assert found["migrations"]["state"] == "ok"


COMMANDS = (
    ("accounts", "show", "acme"),
    ("accounts", "set", "acme", "--file", "-"),
    ("rules", "import", "words.txt", "--account", "acme"),
    ("documents", "list", "--account", "acme"),
    ("documents", "add", "--account", "acme", "page.md"),
    ("decisions", "list"),
    ("decisions", "export", "--format", "csv", "--output", "week.csv"),
    ("dead-letters", "list"),
    ("assess", "metrics"),
    ("review", "add-person", "kim@example.org", "--role", "lead"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_of_people_work_with_the_login_of_the_review_pages(
    shell: Shell, database_url: str, words: tuple[str, ...]
) -> None:
    """Only migrations and re-embedding need the owner."""
    url = service_url(database_url, Service.REVIEW)
    (shell.folder / "words.txt").write_text("scam\n")
    (shell.folder / "page.md").write_text("# Hours\n\nWe are open from nine to six.\n")
    ended = shell.run(*words, stdin=b'{"flagged_keywords": ["spam"]}', env={"DATABASE_URL": url})

    assert "permission denied" not in ended.out + ended.err
    assert ended.code == 0


def test_repairs_need_the_owner_and_reports_do_not(shell: Shell, stack: Stack, template: str) -> None:
    """The login of the review pages reports, retries and drops dead letters, and repairs nothing."""
    owned = create_database(stack.database_url, "hushgate_repaired", template)
    env = {"DATABASE_URL": service_url(owned, Service.REVIEW)}
    with psycopg.connect(owned, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO dead_letters (entry_id, created_at, reason_code, field, expected, got, size_bytes,"
            " raw) VALUES ('1-0', now(), 'poison', '', '', '', 2, '{}')"
        )
        connection.execute(
            "INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text,"
            " created_at, delivered_at)"
            " VALUES ('acme', 'e', gen_random_uuid(), 'c', 'm', 'chat', 'x', now(), now())"
        )
    report = shell.run("repair", "--older-than", "0", env=env)
    fixed = shell.run("repair", "--older-than", "0", "--fix", "reply-not-on-stream", "--yes", env=env)
    retried = shell.run("dead-letters", "retry", "--all", env=env)
    dropped = shell.run("dead-letters", "drop", "--all", env=env)

    assert "reply-not-on-stream" in [row["breach"] for row in report.rows]
    assert (fixed.code, "permission denied" in fixed.err) == (3, True)
    assert (retried.code, dropped.code) == (0, 0)
