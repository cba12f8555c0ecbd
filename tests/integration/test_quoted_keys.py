"""Secrets that are wrong, and servers that quote the key: nothing stores, shows or logs it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from psycopg_pool import PoolTimeout
from structlog.testing import capture_logs

from db.pool import create_pool
from sandbox.server import SandboxHandle
from tasks.process import logs
from tests.support.http_server import Answer, Asked, http_server
from tests.support.running import Running, running

KEY = "sk-test-Quoted-0123456789-abcdefghij"
QUESTION = "When are you open on weekdays?"
HOURS = {"Hours": ["We are open from nine to six on weekdays."]}
OWN = {"name": "own", "endpoint": "own"}


def variables_of(upstream: str, url: str) -> dict[str, str]:
    """The settings with which this upstream is at this URL, with the key."""
    if upstream == "classifier":
        declared = {"own": {"base_url": url, "model": "guard", "format": "llama_guard"}}
        keys = json.dumps({"own": KEY})
        return {"HUSHGATE_CLASSIFIERS": json.dumps(declared), "HUSHGATE_CLASSIFIER_KEYS": keys}
    address, key = {
        "model": ("OPENROUTER_BASE_URL", "OPENROUTER_API_KEY"),
        "moderation": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
        "embeddings": ("HUSHGATE_EMBEDDINGS_URL", "HUSHGATE_EMBEDDINGS_KEY"),
    }[upstream]
    return {address: url, key: KEY}


@contextmanager
def quoting(status: int, form: str) -> Iterator[str]:
    """A server whose every answer quotes the headers of its request."""

    def answer(asked: Asked) -> Answer:
        given = asked.headers["authorization"]
        said = f"request with {given} refused; key {given[-20:]}"
        body = {"error": {"message": said, "type": given, "code": given, "param": given}}
        return (
            status,
            {"Content-Type": "application/json"},
            (said if form == "text" else json.dumps(body)).encode(),
        )

    with http_server(answer) as (url, _):
        yield f"{url}/v1"


def stored(engine: Running, user_id: str) -> str:
    """All that the database holds of an account's decisions."""
    return json.dumps(engine.rows("SELECT * FROM ai_decisions WHERE user_id = %s", user_id), default=str)


@pytest.mark.parametrize("upstream", ["model", "moderation", "embeddings", "classifier"])
@pytest.mark.parametrize(
    ("status", "form"),
    [(401, "json"), (400, "json"), (500, "json"), (429, "json"), (200, "json"), (400, "text")],
)
def test_a_quoted_key_reaches_neither_audit_nor_log(  # noqa: PLR0917  # fixtures
    upstream: str, status: int, form: str, database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Whole and in runs: reasons, attempts, snapshot and log lines of decisions that failed."""
    chosen = {"moderators": [OWN]} if upstream == "classifier" else {}
    with quoting(status, form) as url, capture_logs() as logs:
        variables = variables_of(upstream, url) | {"HUSHGATE_MODEL_FIRST_WAIT_S": "0"}
        with running(database_url, redis_url, sandbox, **variables) as engine:
            user_id = engine.account(documents=HOURS, hold_max_s=0.2, moderation_failure="block", **chosen)
            engine.decide(user_id, QUESTION)
            found = stored(engine, user_id)

    runs = {KEY[at : at + 8] for at in range(len(KEY) - 7)}
    assert not [run for run in runs if run in found]
    assert not [run for run in runs if run in json.dumps(logs, default=str)]


ROOT: Final = Path(__file__).resolve().parents[2]
PASSWORD: Final = "zqxdbpass"
GOOD: Final = {
    "DATABASE_URL": "postgresql://user@localhost/none",
    "REDIS_URL": "redis://localhost:1/0",
    "OPENAI_API_KEY": "zqxmoderationkey",
    "OPENROUTER_API_KEY": "zqxmodelkey",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", f"mysql://user:{PASSWORD}@host/database"),
        ("REDIS_URL", f"http://user:{PASSWORD}@host"),
        ("OPENAI_BASE_URL", "not a URL"),
    ],
)
def test_refused_settings_are_not_quoted(name: str, value: str) -> None:
    """A worker that cannot start says which variable is wrong, and no traceback quotes its secrets."""
    done = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "tasks.app", "worker"],
        env={**os.environ, **GOOD, name: value},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert name in done.stderr
    assert "zqx" not in done.stderr + done.stdout


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://user:{PASSWORD}@localhost:1/none",
        f"postgresql://user:{PASSWORD} {PASSWORD}@localhost:port/none",
        f"postgresql://user:{PASSWORD}%zz@localhost/none",
        f"postgresql://user:{PASSWORD}@localhost/none?no_such_option={PASSWORD}",
    ],
)
async def test_refused_connection_is_not_quoted(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Libpq quotes what it cannot read of a URL; the pool's warning leaves that out."""
    logs.configure("INFO")
    source = create_pool(url, size=2, application="test")
    with contextlib.suppress(PoolTimeout):
        await source.open(wait=True, timeout=0.5)
    await source.close()
    said = capsys.readouterr().err

    assert "error connecting" in said
    assert PASSWORD not in said
