"""Servers that quote the key in their errors: nothing stores, shows or logs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from sandbox.server import SandboxHandle
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
