"""LiteLLM's own guardrail, in its own environment, asks this gateway before and after a call."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from cli.stack import Stack
from db.people.api_tokens import TokenScope
from gateway.app import build_gateway
from sandbox.server import SandboxHandle
from tests.support.api_walk import served
from tests.support.publishing import token
from tests.support.running import OPEN, settings_of, store_account
from worker.account_settings import changed
from worker.model import Account
from worker.settings import GatewaySettings

PYTHON: Final = Path(sys.prefix) / "litellm/bin/python"
"""Installed by ``make test`` from ``tests/litellm.lock``."""
PROGRAM: Final = """
import asyncio, json, sys
from litellm.proxy.guardrails.guardrail_hooks.generic_guardrail_api import GenericGuardrailAPI

async def ask(url, calls):
    found = []
    for key, kind, inputs in calls:
        guard = GenericGuardrailAPI(
            api_base=url, api_key=key, guardrail_name="hushgate", event_hook="pre_call", default_on=True
        )
        try:
            found.append(["passed", await guard.apply_guardrail(inputs, {}, kind)])
        except Exception as error:
            found.append([type(error).__name__, str(error)])
    print(json.dumps(found))

asyncio.run(ask(sys.argv[1], json.loads(sys.argv[2])))
"""
LINES: Final = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "When do you open?"},
    {"role": "assistant", "content": "At nine."},
    {"role": "user", "content": [{"type": "text", "text": "And on Sundays?"}]},
]


@pytest.fixture(scope="module")
def url(database_url: str, stack: Stack, sandbox_process: SandboxHandle) -> Iterator[str]:
    """The address of a gateway that makes checks."""
    worker = settings_of(database_url, stack.redis_url, sandbox_process)
    known = {"DATABASE_URL": database_url, "REDIS_URL": stack.redis_url}
    with served(build_gateway(GatewaySettings.model_validate(known), worker)) as api:
        yield api.url


def asked(url: str, *calls: tuple[str, str, dict[str, Any]]) -> list[list[Any]]:
    """What the guardrail does with each call: ``passed`` with its inputs, or the name of its error."""
    given = [str(PYTHON), "-c", PROGRAM, url, json.dumps(calls)]
    known = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "*", "PYTHONPATH": ""}
    done = subprocess.run(
        given, env=known, capture_output=True, text=True, timeout=120, check=False
    )  # our own program
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_litellm_passes_and_blocks_by_verdicts(database_url: str, url: str) -> None:
    """A rule blocks before and after the call; a wrong token and an image are errors, which block as well."""
    settings = {**OPEN, "flagged_keywords": ["wombat"]}
    asyncio.run(store_account(database_url, changed(Account(user_id="lite", version=0), settings)))
    key = token(database_url, TokenScope.CHECK, account="lite")
    found = asked(
        url,
        (key, "request", {"texts": ["Be kind.", "And on Sundays?"], "structured_messages": LINES}),
        (key, "request", {"texts": ["a wombat"]}),
        (key, "response", {"texts": ["We are closed."]}),
        (key, "response", {"texts": ["We are closed.", "a wombat"]}),
        (key, "request", {"texts": ["Look"], "images": ["https://e.x/i.png"]}),
        ("hg_wrong", "response", {"texts": ["We are closed."]}),
    )
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT message_text, reason_code FROM ai_decisions ORDER BY id").fetchall()

    assert [each for each, _ in found[:4]] == [
        "passed",
        "GuardrailRaisedException",
        "passed",
        "GuardrailRaisedException",
    ]
    assert found[0][1]["texts"] == ["Be kind.", "And on Sundays?"]
    assert "FLAGGED_RULE" in found[1][1]
    assert "wombat" not in found[1][1]
    assert [each for each, _ in found[4:]] == ["Exception", "Exception"]
    assert rows[0] == ("And on Sundays?", "MESSAGE_CHECKED")
    assert len(rows) == 5
