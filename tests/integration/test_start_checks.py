"""What ends a process at its start, in one line with the fix, and what it waits for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from cli.deployment.start import require_servers
from cli.doctor.command import NOT_CHECKED
from cli.doctor.redis_data import server_checks
from cli.main import command_line
from cli.stack import Stack
from db.health.start import refusal_fix, require_database
from db.pool import WORKER_ROLE
from db.review_store import REVIEWER_ROLE
from db.schema import logins
from db.schema.logins import LOGINS, Service
from db.schema.migrate import upgrade
from tests.conftest import create_database, database_at
from tests.support.postgres_answers import postgres_answering
from tests.support.redis_answers import redis_answering
from tests.support.terminal import shell_at
from worker.errors import ConfigurationError
from worker.settings import Settings, load

PASSWORD = "zqxdbpass"


@pytest.fixture(scope="module")
def worker_url(database_url: str) -> str:
    """The database with the login of workers."""
    logins.ensure(database_url, {Service.WORKER: PASSWORD})
    return logins.url_of(database_url, LOGINS[Service.WORKER], PASSWORD)


def settings(**given: str) -> Settings:
    """Settings with servers at a port that nothing listens on, but for those given."""
    other = {"REDIS_URL": "redis://127.0.0.1:1", "OPENAI_API_KEY": "a", "OPENROUTER_API_KEY": "b"}
    return load(Settings, other | given)


def test_the_login_of_the_service_starts_it(worker_url: str) -> None:
    """There is nothing to wait for."""
    assert require_database(worker_url, role=WORKER_ROLE) == ""


def test_the_login_of_another_service_is_refused_by_name(worker_url: str) -> None:
    """The message names the role, the login and the command that prints the right login."""
    with pytest.raises(ConfigurationError, match=r"hushgate_reviewer, got hushgate_worker_login"):
        require_database(worker_url, role=REVIEWER_ROLE)


def test_a_database_without_tables_asks_for_the_migration(stack: Stack) -> None:
    """A worker does not wait for tables."""
    create_database(stack.database_url, "never_migrated")

    with pytest.raises(ConfigurationError, match="run `hushgate migrate`"):
        require_database(database_at(stack.database_url, "never_migrated"), role=None)


def test_a_database_of_an_unreleased_version_is_named(stack: Stack, template: str, tmp_path: Path) -> None:
    """It has our revision and lacks a column; `migrate` and `doctor` say so, and what to use instead."""
    url = create_database(stack.database_url, "unreleased", template)
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE ai_rules DROP COLUMN prompt")
    shell = shell_at(tmp_path, DATABASE_URL=url, REDIS_URL=stack.redis_url)
    checks = {row["check"]: row for row in shell.run("doctor", "--offline").rows}

    with pytest.raises(ConfigurationError, match=r"one of an unreleased version: it lacks ai_rules\.prompt"):
        upgrade(url)
    assert checks["migrations"]["state"] == "fail"
    assert checks["migrations"]["found"] == "0001 of 0001, without ai_rules.prompt"
    assert "use a new database" in checks["migrations"]["fix"]


@pytest.mark.parametrize("part", ["login", "database", "address"])
def test_an_address_that_postgres_refuses_ends_the_process(worker_url: str, stack: Stack, part: str) -> None:
    """The message says what to correct, and never quotes the password."""
    url = {
        "login": worker_url.replace(LOGINS[Service.WORKER], "no_such_login"),
        "database": database_at(stack.database_url, "no_such_database"),
        "address": f"postgresql://someone:{PASSWORD}%zz@127.0.0.1/none",
    }[part]

    with pytest.raises(ConfigurationError, match=r"^DATABASE_URL: ") as refused:
        require_database(url, role=WORKER_ROLE)
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("refusal", "fix"),
    [
        ("Tenant or user not found", "LOGIN.PROJECT"),  # Supabase's pooler
        (
            "Endpoint ID is not specified. Either please upgrade the postgres client library",
            "host name",
        ),  # Neon
        ("connection is insecure (try using `sslmode=require`)", "sslmode=require"),  # Neon
        ("SSL connection is required. Please specify SSL options and retry.", "sslmode=require"),  # Azure
        ("SSL required", "sslmode=require"),  # PgBouncer
        ("This RDS proxy has no credentials for the role x. Check the credentials", "secret"),  # AWS
        ('PAM authentication failed for user "x"', "check its password"),  # AWS
        ('Cloud SQL IAM user authentication failed for user "x"', "check its password"),
        ("This RDS Proxy requires TLS connections", "sslmode=require"),  # oban#869
        ("RDS Proxy supports only IAM, MD5, or SCRAM authentication.", "add its password"),
        ("RDS Proxy for PostgreSQL currently doesn't support command-line options.", "remove options"),
        ('pg_hba.conf rejects connection for host "10.0.0.1", user "x", no encryption', "allow this host"),
        ('permission denied for database "shop"', "grant the login CONNECT"),  # dbcodeio#105
        ('database "shop" is not currently accepting connections', "allow connections"),
        ("(ENOTFOUND) tenant/user postgres.x not found", "LOGIN.PROJECT"),  # Supabase's pooler
        ("Wrong password", "check its password"),  # Supabase's pooler
        ('No pool configured for database: "shop", user: "x"', "configuration of the pooler"),  # PgCat
        ("odyssey: c1: route for 'shop.x' is not found", "configuration of the pooler"),
        ("The requested endpoint could not be found, or you don't have access to it.", "host name"),  # Neon
        ("Inconsistent project name inferred from SNI ('a') and project option ('b').", "the project once"),
        ("The endpoint has been disabled. Enable it using the Neon API and retry.", "enable it"),
        (
            "This IP address 203.0.113.7 is not allowed to connect to this endpoint.",
            "allow this host",
        ),  # Neon
        (
            "(EADDRNOTALLOWED) address not in tenant allow_list: {203, 0, 113, 7}",
            "allow this host",
        ),  # Supabase
        ('Authentication error, reason: "Invalid format for user or db_name"', "LOGIN.PROJECT"),  # Supabase
        ("The Username should be in <username@hostname> format. Invalid Username specified.", "LOGIN@SERVER"),
    ],
)
def test_what_a_hosted_postgres_refuses_ends_the_process_with_its_fix(refusal: str, fix: str) -> None:
    """The process would wait for ever."""
    with postgres_answering(refusal) as url, pytest.raises(ConfigurationError, match=fix) as error:
        require_database(url, role=None)
    assert "secret@" not in str(error.value)


@pytest.mark.parametrize(
    ("code", "refusal", "fix"),
    [
        ("28P01", "Passwort-Authentifizierung für Benutzer »x« fehlgeschlagen", "check its password"),
        ("3D000", "la base de données « shop » n'existe pas", "create it"),
        ("28000", 'роль "x" не существует', "the rules for its host"),
        ("42704", "unbekannter Konfigurationsparameter »x«", "correct the options"),
        ("57P03", "das Datenbanksystem startet", ""),
        ("XX000", "(ECIRCUITBREAKER) too many authentication failures, new connections are blocked", ""),
    ],
)
def test_what_postgres_refuses_in_another_language_is_known_by_its_code(
    code: str, refusal: str, fix: str
) -> None:
    """The server's lc_messages decides the words, and libpq drops the code: psycopg#1188."""
    with postgres_answering(refusal, code=code) as url:
        if not fix:
            assert require_database(url, role=None).endswith(refusal)
            return
        with pytest.raises(ConfigurationError, match=fix):
            require_database(url, role=None)


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ('server certificate for "a.example" does not match host name "b.example"', "its certificate"),
        (
            "channel binding required, but server authenticated client without channel binding",
            "channel_binding",
        ),
        ("SSL error: tlsv13 alert certificate required", "sslcert"),
    ],
)
def test_what_libpq_refuses_has_a_fix(words: str, fix: str) -> None:
    """No waiting makes it right."""
    assert fix in (refusal_fix(words) or "")


@pytest.mark.parametrize(
    ("option", "fix"),
    [("sslmode=require", "remove sslmode"), ("sslmode=required", "write disable, prefer, require")],
)
def test_a_wrong_option_of_tls_ends_the_process_with_its_fix(option: str, fix: str) -> None:
    """The server has no TLS, or libpq does not know the word."""
    with postgres_answering("not reached") as url, pytest.raises(ConfigurationError, match=fix):
        require_database(f"{url}?{option}", role=None)


@pytest.mark.parametrize(
    "refusal",
    [
        "the database system is not yet accepting connections",
        "sorry, too many clients already",
        "(EMAXCONNSESSION) max clients reached in session mode",  # posthog#66672
        "Your account or project has exceeded the compute time quota.",  # Neon
        "no more connections allowed (max_client_conn)",  # PgBouncer
        "odyssey: c1: too many tcp connections",
    ],
)
def test_what_passes_is_waited_for(refusal: str) -> None:
    """The line names what the server said."""
    with postgres_answering(refusal) as url:
        assert require_database(url, role=None).endswith(refusal)


@pytest.mark.parametrize(
    ("info", "state"),
    [
        ({"redis_version": "7.2.4"}, "ok"),
        ({"redis_version": "7.2.4", "valkey_version": "9.0.1"}, "ok"),
        ({"redis_version": "6.3.4", "keydb_version": "6.3.4"}, "fail"),
        ({"redis_version": "7.4.0", "dragonfly_version": "df-v1.40.1"}, "fail"),
        ({"redis_version": "7.4.3", "garnet_version": "2.1.5"}, "fail"),
        ({"role": "master"}, "fail"),
    ],
)
def test_a_server_that_only_names_a_version_of_redis_is_no_redis(info: dict[str, str], state: str) -> None:
    """Such a server is not tested; one that names no version at all is none."""
    version, *_ = server_checks(info)

    assert version.state == state


def test_a_server_that_only_speaks_the_protocol_of_postgres_is_no_database_of_ours() -> None:
    """CockroachDB lacks what the tables need."""
    version = {"server_version": "13.0.0", "crdb_version": "CockroachDB CCL v25.1.0"}
    with (
        postgres_answering(client_encoding="UTF8", server_encoding="UTF8", **version) as url,
        pytest.raises(ConfigurationError, match="expected Postgres, got CockroachDB"),
    ):
        upgrade(url)


def test_a_server_that_does_not_answer_is_waited_for(
    worker_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A worker that starts before its Redis or Postgres goes on when the server answers."""
    require_servers(settings(DATABASE_URL="postgresql://someone@127.0.0.1:1/none"), role=WORKER_ROLE)

    assert capsys.readouterr().err.count("does not answer, waiting for it") == 2


def test_a_redis_that_refuses_the_login_ends_the_process(redis_url: str, worker_url: str) -> None:
    """The message names REDIS_URL; without the login the process starts."""
    refused = redis_url.replace("redis://", f"redis://someone:{PASSWORD}@")

    require_servers(settings(DATABASE_URL=worker_url, REDIS_URL=redis_url), role=WORKER_ROLE)
    with pytest.raises(ConfigurationError, match=r"^REDIS_URL: ") as error:
        require_servers(settings(DATABASE_URL=worker_url, REDIS_URL=refused), role=WORKER_ROLE)
    assert PASSWORD not in str(error.value)


@pytest.mark.parametrize(
    ("path", "answer", "expected"),
    [
        ("", "-NOPERM No permissions to access a key", "a login that may use the keys"),
        ("", "-ERR operation not permitted", "login, password"),
        ("", "-DENIED Redis is running in protected mode", "login, password"),
        ("/1", "-ERR SELECT is not allowed in cluster mode", "number of the database"),
        ("/1", "-ERR only 0th database is supported! Selected DB: 1.", "number of the database"),  # Upstash
        ("", "-ERR unknown command 'EXISTS', with args beginning with: 'x'", "Redis itself"),  # Sentinel
        ("", "HTTP/1.1 400 Bad Request", "rediss:// at a port with TLS"),
        ("", "-NOPERM User x has no permissions to run the 'exists' command", "(EVALSHA)"),  # bullmq#3351
        ("", "-LOADING Redis is loading the dataset in memory", ""),
        ("", "-ERR max daily request limit exceeded. Limit: 10000, Usage: 10000.", ""),  # domain-digger#36
        ("", "-MISCONF Redis is configured to save RDB snapshots, but", ""),
    ],
)
def test_what_no_waiting_makes_right_at_redis_ends_the_process(
    worker_url: str, capsys: pytest.CaptureFixture[str], path: str, answer: str, expected: str
) -> None:
    """The message says what was expected; what passes is waited for, by the server's words."""
    with redis_answering(answer) as address:
        given = settings(DATABASE_URL=worker_url, REDIS_URL=f"{address}{path}")
        if expected:
            with pytest.raises(ConfigurationError, match=f"^REDIS_URL: expected .*{re.escape(expected)}"):
                require_servers(given, role=WORKER_ROLE)
            return
        require_servers(given, role=WORKER_ROLE)

    said = answer.removeprefix("-ERR ").removeprefix("-LOADING ")
    assert said.removeprefix("-") in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize("words", [("doctor", "--offline"), ("accounts", "create", "a")])
def test_an_address_that_cannot_be_read_is_never_quoted(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The words of libpq quote the part that is wrong, which may be the password."""
    address = f"postgresql://someone:{PASSWORD}%zz@127.0.0.1/none"
    ended = shell_at(tmp_path, DATABASE_URL=address, REDIS_URL="redis://127.0.0.1:1").run(*words)

    assert "expected an address as libpq reads it" in f"{ended.out}{ended.err}"
    assert PASSWORD not in f"{ended.out}{ended.err}"


@pytest.mark.parametrize(
    ("variables", "named", "redis"),
    [
        ({"HUSHGATE_SHARD": "1"}, "HUSHGATE_SHARDS", NOT_CHECKED),
        ({"HUSHGATE_MODEL_KEY_FILE": "/none"}, "HUSHGATE_MODEL_KEY_FILE", NOT_CHECKED),
        ({"HUSHGATE_CLASSIFIERS": '{"a": {"x": 1}}'}, "HUSHGATE_CLASSIFIERS.a", NOT_CHECKED),
        ({"REDIS_URL": "redis+cluster://127.0.0.1:1"}, "HUSHGATE_BROKER_URL", "ConnectionError"),
    ],
)
def test_doctor_checks_the_rest_beside_a_wrong_setting(
    worker_url: str, variables: dict[str, str], named: str, redis: str
) -> None:
    """Neither the missing REDIS_URL nor another mistake hides the state of Postgres."""
    given = {"DATABASE_URL": worker_url, "REDIS_URL": None} | variables

    done = CliRunner().invoke(command_line(["doctor"]), ["doctor", "--offline", "--json"], env=given)

    rows = {row["check"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert named in rows["settings"]["found"]
    assert rows["migrations"]["state"] == "ok"
    assert rows["redis"]["found"].startswith(redis)


def test_doctor_reads_the_environment_before_the_file_beside_a_wrong_setting(
    worker_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every process does: DATABASE_URL of ``.env`` is another database, which is not checked."""
    (tmp_path / ".env").write_text("DATABASE_URL=postgresql://someone@127.0.0.1:1/none\n")
    monkeypatch.chdir(tmp_path)
    given = {"DATABASE_URL": worker_url, "HUSHGATE_SHARD": "1"}

    done = CliRunner().invoke(command_line(["doctor"]), ["doctor", "--offline", "--json"], env=given)

    rows = {row["check"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert rows["migrations"]["state"] == "ok"


WITHOUT_PAGES = """
import sys
modules = "argon2 authlib babel httptools httpx2 jinja2 joserfc python_multipart segno starlette uvicorn"
sys.modules.update(dict.fromkeys(modules.split()))
from cli.main import command_line
command_line()(["--help"])
"""


def test_without_the_extra_of_the_pages_only_commands_that_serve_or_show_them_are_missing() -> None:
    """As in the image of workers."""
    shown = subprocess.run([sys.executable, "-c", WITHOUT_PAGES], check=True, capture_output=True, text=True)
    missing = {line.split()[1] for line in shown.stdout.splitlines() if "Not installed." in line}

    assert missing == {"demo", "up", "decisions", "review", "conversations", "gateway"}
