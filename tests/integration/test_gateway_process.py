"""``hushgate gateway`` as a process: killed, stopped, and where it may listen."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
from redis import Redis
from typer.testing import CliRunner

from cli.deployment import gateway
from cli.deployment.loopback import free_address, status
from cli.exit_codes import ExitCode
from cli.main import command_line
from db.people.api_tokens import TokenScope
from db.schema import logins
from db.schema.logins import LOGINS, Service, url_of
from sandbox.server import SandboxHandle
from tests.support.publishing import Publisher, checking_gateway, gateway_at, new_event, on_stream, token
from tests.support.running import OPEN, Running, eventually, running, settings_of, store_account
from worker.account_settings import changed
from worker.model import Account

REFUSALS = """
    SELECT l.action, l.detail FROM access_log l JOIN api_tokens t USING (person_id) WHERE t.prefix = %s
"""
USED = "SELECT used_at IS NOT NULL FROM api_tokens WHERE prefix = ANY(%s)"
UNLIMITED = {"HUSHGATE_INGEST_RATE": "0"}


@contextmanager
def serving(
    database_url: str, redis_url: str, log: Path, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A gateway: its address and its process."""
    url = free_address()
    known = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, **UNLIMITED, **environment}
    command = [sys.executable, "-m", "cli", "gateway", "--port", str(urlsplit(url).port)]
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=os.environ | known, stdout=output, stderr=output)
    try:
        eventually(lambda: process.poll() is not None or status(f"{url}/readyz") == 200, "the gateway")
        assert process.poll() is None, log.read_text()
        yield url, process
    finally:
        process.kill()
        process.wait()


def publish_until_refused(url: str, key: str, user_id: str, accepted: list[str], sent: list[str]) -> None:
    """Publish batches until the gateway is gone; the ids in accepted requests, and of all requests."""
    with httpx2.Client(headers={"Authorization": f"Bearer {key}"}, trust_env=False) as client:
        while True:
            events = [new_event(user_id) for _ in range(5)]
            ids = [str(each["event_id"]) for each in events]
            sent += ids
            try:
                answer = client.post(f"{url}/api/v1/events", json=events, timeout=20)
            except httpx2.TransportError:
                return
            assert answer.status_code == 202, answer.text
            accepted += ids


def test_what_a_killed_gateway_accepted_is_decided_once(
    database_url: str, redis_url: str, sandbox: SandboxHandle, tmp_path: Path
) -> None:
    """Under load, with a publisher that sends its last batches again to the next gateway."""
    key, accepted, sent = token(database_url, TokenScope.PUBLISH), list[str](), list[str]()
    with running(database_url, redis_url, sandbox) as engine:
        user_id = engine.account(ai_control_enabled=False)
        with serving(database_url, redis_url, tmp_path / "log") as (url, process):
            threads = [
                threading.Thread(target=publish_until_refused, args=(url, key, user_id, accepted, sent))
                for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            eventually(lambda: len(accepted) > 200, "accepted requests")
            process.send_signal(signal.SIGKILL)
            for thread in threads:
                thread.join()
        again = sorted(set(sent) - set(accepted))
        with gateway_at(database_url, redis_url) as client:
            events = [new_event(user_id, event_id=each) for each in again + accepted[:50]]
            answer = Publisher(client, key).post(events)
        decided = eventually(lambda: _all_decided(engine, user_id, len(set(sent))), "the decisions")

    assert answer.status_code == 202
    assert again, "a request was under way when the gateway was killed"
    assert decided == Counter(dict.fromkeys(sent, 1))


def check_until_refused(url: str, key: str, asked: dict[str, str], got: dict[str, Any]) -> None:
    """Have messages checked until the gateway is gone; what was asked by id, and the verdicts that came."""
    with httpx2.Client(headers={"Authorization": f"Bearer {key}"}, trust_env=False) as client:
        for number in count():
            name = f"{threading.get_ident()}-{number}"
            asked[name] = f"Is it number {name}?"
            body = {"user_id": "acme", "id": name, "message": asked[name]}
            try:
                answer = client.post(f"{url}/v1/checks", json=body, timeout=20)
            except httpx2.TransportError:
                return
            assert answer.status_code == 200, answer.text
            got[name] = answer.json()


def test_a_check_in_a_killed_gateway_gets_one_verdict(
    database_url: str, redis_url: str, sandbox: SandboxHandle, tmp_path: Path
) -> None:
    """Nothing is stored of a check that was cut off, or all of it; asked again it gets that verdict."""
    key, asked, got = token(database_url, TokenScope.CHECK), dict[str, str](), dict[str, Any]()
    worker = settings_of(database_url, redis_url, sandbox)
    servers = {"HUSHGATE_MODEL_URL": sandbox.base_url, "HUSHGATE_MODEL_KEY": "sandbox"}
    asyncio.run(store_account(database_url, changed(Account(user_id="acme", version=0), OPEN)))
    with serving(database_url, redis_url, tmp_path / "log", **servers) as (url, process):
        threads = [
            threading.Thread(target=check_until_refused, args=(url, key, asked, got)) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        eventually(lambda: len(got) > 30, "verdicts")
        process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join()
    with checking_gateway(worker) as client:
        headers = {"Authorization": f"Bearer {key}"}
        bodies = [{"user_id": "acme", "id": name, "message": text} for name, text in asked.items()]
        again = {
            each["verdict"]["id"]: each["verdict"]
            for at in range(0, len(bodies), 50)
            for each in client.post("/v1/checks", json=bodies[at : at + 50], headers=headers).json()[
                "results"
            ]
        }
    with psycopg.connect(database_url) as owner:
        rows = owner.execute(
            "SELECT event_id, count(*) FROM ai_decisions WHERE user_id = 'acme' GROUP BY event_id"
        ).fetchall()

    assert len(got) < len(asked), "a check was under way when the gateway was killed"
    assert {name: again[name] for name in got} == got
    assert dict(rows) == dict.fromkeys(asked, 1)


def _all_decided(engine: Running, user_id: str, events: int) -> Counter[str] | None:
    """How often each event was decided, once the stream is empty."""
    rows = engine.rows("SELECT event_id FROM ai_decisions WHERE user_id = %s", user_id)
    finished = len(rows) >= events and engine.redis.xlen("hushgate:events") == 0
    return Counter(row["event_id"] for row in rows) if finished else None


def refuses(url: str) -> bool:
    """Whether nothing listens at the address any more."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=2).close()
    except OSError:
        return True
    return False


def test_the_login_of_the_gateway_has_all_rights_that_a_gateway_needs(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """It is ready, publishes, notes the use of a token, and logs a refusal in the access log."""
    url = url_of(database_url, LOGINS[Service.GATEWAY], _gateway_password(database_url))
    right, wrong = token(database_url, TokenScope.PUBLISH), token(database_url, TokenScope.READ)
    with (
        serving(url, redis_url, tmp_path / "log") as (address, _),
        httpx2.Client(base_url=address, trust_env=False) as client,
    ):
        answers = [
            client.post("/api/v1/events", json=new_event(), headers={"Authorization": f"Bearer {key}"})
            for key in (right, wrong)
        ]
    with psycopg.connect(database_url) as owner:
        refusals = owner.execute(REFUSALS, (wrong[:9],)).fetchall()
        used = owner.execute(USED, ([right[:9], wrong[:9]],)).fetchall()

    assert [each.status_code for each in answers] == [202, 403]
    assert refusals == [("refused", {"page": "api_events", "title": "Not allowed"})]
    assert used == [(True,), (True,)]


def _gateway_password(url: str) -> str:
    logins.ensure(url, {Service.GATEWAY: "gateway-secret"})
    return "gateway-secret"


def test_a_stopped_gateway_finishes_its_requests(database_url: str, redis_url: str, tmp_path: Path) -> None:
    """A request whose body is still arriving at SIGTERM is answered 202; then the process ends with 0."""
    key, event = token(database_url, TokenScope.PUBLISH), new_event()
    body = json.dumps(event).encode()
    head = (
        "POST /api/v1/events HTTP/1.1",
        f"Host: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json",
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n",
    )
    with (
        serving(database_url, redis_url, tmp_path / "log") as (url, process),
        socket.create_connection(("127.0.0.1", httpx2.URL(url).port or 0), timeout=20) as connection,
        connection.makefile("rb") as answer,
    ):
        connection.sendall("\r\n".join(head).encode())
        asked = answer.readline()  # the gateway waits for the body
        assert answer.readline() == b"\r\n"
        process.send_signal(signal.SIGTERM)
        eventually(lambda: refuses(url), "the gateway to take no more connections")
        connection.sendall(body)
        answered = answer.readline()
        ended = process.wait(20)
    with Redis.from_url(redis_url) as redis:
        stored = on_stream(redis)

    assert b" 100 " in asked
    assert b" 202 " in answered
    assert stored == [event]
    assert ended in {0, -signal.SIGTERM}


def test_other_machines_need_https_before_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address beyond loopback is refused; the message names the option that allows it."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:p@127.0.0.1:1/none")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    refused = CliRunner().invoke(command_line(), ["gateway", "--host", "0.0.0.0"])

    assert refused.exit_code == ExitCode.CONFIGURATION
    assert "--any-interface" in refused.output


def test_a_wrong_variable_of_workers_switches_checks_off_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publishing does not need it; the message names the variable."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:p@127.0.0.1:1/none")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")

    assert gateway.worker_settings() is not None
    monkeypatch.setenv("HUSHGATE_IN_FLIGHT", "many")
    assert gateway.worker_settings() is None
