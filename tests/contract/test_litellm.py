"""LiteLLM's whole proxy, in its own environment, asks this gateway before and after a call of a model."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import httpx2
import psycopg
import pytest
from openai import APIError, APIStatusError, OpenAI

from cli.deployment.loopback import free_address, status
from cli.stack import Stack
from db.people.api_tokens import TokenScope
from gateway.app import build_gateway
from sandbox.replies.answers import GREETING
from sandbox.server import SandboxHandle
from tests.support.api_walk import served
from tests.support.publishing import token
from tests.support.running import OPEN, eventually, settings_of, store_account
from worker.account_settings import changed
from worker.model import Account
from worker.settings import GatewaySettings

ENVIRONMENT: Final = Path(sys.prefix) / "litellm/bin"
"""Installed by ``make test`` from ``tests/litellm.lock``."""
DOCUMENTED: Final = (Path(__file__).parents[2] / "docs/contracts.md").read_text().partition("```yaml\n")[2]
KEY: Final = "sk-0123456789abcdef0123456789abcdef"
MODELS: Final = """
model_list:
  - model_name: shop
    litellm_params: {model: openai/sandbox, api_base: "SANDBOX", api_key: none}
litellm_settings: {num_retries: 0}
"""
OTHER: Final = """
  - guardrail_name: wrong-token
    litellm_params:
      {guardrail: generic_guardrail_api, mode: pre_call, api_base: "https://gateway.example", api_key: wrong}
"""
ROLES: Final = ("user", "assistant")
WORD: Final = "wombat"


@dataclass(frozen=True, slots=True)
class Shop:
    """A program that talks to a model through the proxy."""

    client: OpenAI
    database_url: str

    def ask(self, *said: Any, **more: Any) -> str:
        """The model's answer, or the status and words of the proxy's refusal."""
        lines: Any = [{"role": role, "content": each} for role, each in zip(cycle(ROLES), said, strict=False)]
        try:
            answer = self.client.chat.completions.create(model="shop", messages=lines, **more)
        except APIStatusError as error:
            return f"{error.status_code} {error.message}"
        return answer.choices[0].message.content or ""

    def stream(self, said: str) -> Iterator[str]:
        """The pieces of the model's answer."""
        lines: Any = [{"role": "user", "content": said}]
        for piece in self.client.chat.completions.create(model="shop", messages=lines, stream=True):
            yield piece.choices[0].delta.content or ""

    def decisions(self) -> list[tuple[str, str]]:
        """Reason and message of each check."""
        with psycopg.connect(self.database_url) as connection:
            query = "SELECT reason_code, message_text FROM ai_decisions ORDER BY id"
            return connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def shop(
    database_url: str, stack: Stack, sandbox_process: SandboxHandle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    """A proxy with the guardrail of the documentation, the sandbox as its model, and a gateway."""
    worker = settings_of(database_url, stack.redis_url, sandbox_process)
    known = {"DATABASE_URL": database_url, "REDIS_URL": stack.redis_url}
    settings = {**OPEN, "flagged_keywords": [WORD], "rules_on_reply": True}
    asyncio.run(store_account(database_url, changed(Account(user_id="my-shop", version=0), settings)))
    key = token(database_url, TokenScope.CHECK, account="my-shop")
    with served(build_gateway(GatewaySettings.model_validate(known), worker)) as api:
        guardrails = (DOCUMENTED.partition("```")[0] + OTHER).replace("https://gateway.example", api.url)
        config = MODELS.replace("SANDBOX", sandbox_process.base_url) + guardrails
        with (
            started_proxy(config, tmp_path_factory.mktemp("litellm"), key) as url,
            httpx2.Client(trust_env=False) as http,
        ):
            client = OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, http_client=http)
            yield Shop(client=client, database_url=database_url)


@contextmanager
def started_proxy(config: str, folder: Path, token: str) -> Iterator[str]:
    """The address of a proxy with this configuration."""
    url, log = free_address(), folder / "log"
    (folder / "config.yaml").write_text(config)
    known = {"HUSHGATE_TOKEN": token, "LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with log.open("wb") as output:
        proxy = subprocess.Popen(
            [ENVIRONMENT / "litellm", "--config", folder / "config.yaml", "--port", url.rpartition(":")[2]],
            env=os.environ | known | {"NO_PROXY": "*", "PYTHONPATH": ""},
            stdout=output,
            stderr=output,
        )
    try:
        ready = f"{url}/health/readiness"
        eventually(lambda: status(ready) == 200 or proxy.poll() is not None, "the proxy")
        assert proxy.poll() is None, log.read_text()[-2000:]
        yield url
    finally:
        proxy.kill()
        proxy.wait()


def test_the_proxy_passes_and_refuses_by_verdicts(shop: Shop, sandbox: SandboxHandle) -> None:
    """A flagged message reaches no model, a flagged draft no client; the reason and the decision do."""
    sandbox.add_rule("chat", "keyword", value=WORD, contains="Bonjour")
    sandbox.add_rule("chat", "keyword", value="o\u200bk", contains="Hola")
    clean = shop.ask("Hello")
    before = shop.ask("Hello", "Hi.", f"a {WORD}")
    calls = sandbox.calls("chat")
    after = shop.ask("Bonjour")
    cleaned = shop.ask([{"type": "text", "text": "Hola"}])

    assert clean == GREETING
    assert re.fullmatch(r"400 Error code: 400 - Hushgate: FLAGGED_RULE \([0-9a-f-]{36}\)", before)
    assert calls == 1
    assert re.fullmatch(r"400 Error code: 400 - Hushgate: REPLY_FLAGGED_RULE \([0-9a-f-]{36}\)", after)
    assert cleaned == f"{GREETING} ok"
    assert shop.decisions() == [
        ("MESSAGE_CHECKED", "Hello"),
        ("DRAFT_CHECKED", ""),
        ("FLAGGED_RULE", f"a {WORD}"),
        ("MESSAGE_CHECKED", "Bonjour"),
        ("REPLY_FLAGGED_RULE", ""),
        ("MESSAGE_CHECKED", "Hola"),
        ("DRAFT_CHECKED", ""),
    ]


def test_no_piece_of_a_flagged_stream_leaves_the_proxy(shop: Shop, sandbox: SandboxHandle) -> None:
    """The documented configuration holds a stream until its text is checked."""
    sandbox.add_rule("chat", "keyword", value=WORD, contains="Bonjour")

    assert "".join(shop.stream("Hello")) == GREETING
    with pytest.raises(APIError, match="REPLY_FLAGGED_RULE"):
        next(shop.stream("Bonjour"))


def test_what_cannot_be_checked_stops(shop: Shop, sandbox: SandboxHandle) -> None:
    """An image and a wrong token are errors of the proxy."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    refused = [
        shop.ask([{"type": "text", "text": "Hello"}, image]),
        shop.ask("Hello", extra_body={"guardrails": ["wrong-token"]}),
    ]

    assert [each[:3] for each in refused] == ["500", "500"]
    assert sandbox.calls("chat") == 0
