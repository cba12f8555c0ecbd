"""Checks in the contracts of other products: what their clients read, what is stored, what fails closed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import openai
import psycopg
import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from cli.stack import Stack
from db.people.api_tokens import TokenScope
from sandbox.server import SandboxHandle
from tests.support.publishing import checking_gateway, gateway_at, token
from tests.support.running import OPEN, settings_of, store_account
from worker.account_settings import changed
from worker.model import Account

NUMBERS = count(1)
RULE = "wombat"
DIFY, LITELLM, MODERATIONS = "/dify/moderation", "/beta/litellm_basic_guardrail_api", "/v1/moderations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Another product with an API token of one account, whose rules stop the word ``wombat``."""

    client: TestClient
    key: str
    user_id: str
    url: str

    def post(self, path: str, body: Any, **headers: str) -> Response:
        """The answer to a request."""
        sent = {"Authorization": f"Bearer {self.key}"} | headers
        return self.client.post(path, json=body, headers=sent)

    def answer(self, path: str, body: Any, **headers: str) -> Any:
        """The body of an answer that is no error."""
        found = self.post(path, body, **headers)
        assert found.status_code == 200, found.text
        return found.json()

    def checks(self) -> list[tuple[str, str]]:
        """Id and reason code of the stored checks of the account, by their code."""
        query = "SELECT event_id, reason_code FROM ai_decisions WHERE user_id = %s ORDER BY 2, 1"
        with psycopg.connect(self.url) as connection:
            return [(str(row[0]), str(row[1])) for row in connection.execute(query, (self.user_id,))]

    def openai(self, **more: Any) -> openai.OpenAI:
        """The client of OpenAI for this gateway."""
        return openai.OpenAI(
            base_url="http://testserver/v1", api_key=self.key, http_client=self.client, **more
        )


@pytest.fixture(scope="module")
def gateway(database_url: str, stack: Stack, sandbox_process: SandboxHandle) -> Iterator[TestClient]:
    """A gateway that makes checks."""
    with checking_gateway(settings_of(database_url, stack.redis_url, sandbox_process)) as client:
        yield client


@pytest.fixture
def peer(gateway: TestClient, database_url: str, sandbox: SandboxHandle) -> Peer:
    """A product whose token belongs to a person of one account."""
    assert sandbox
    user_id = f"peer-{next(NUMBERS)}"
    settings = {**OPEN, "flagged_keywords": [RULE, "violence"]}
    asyncio.run(store_account(database_url, changed(Account(user_id=user_id, version=0), settings)))
    key = token(database_url, TokenScope.CHECK, account=user_id)
    return Peer(client=gateway, key=key, user_id=user_id, url=database_url)


def prompt(*lines: tuple[str, str]) -> dict[str, Any]:
    """What agentgateway sends before a call."""
    return {"body": {"messages": [{"role": role, "content": text} for role, text in lines]}}


def choices(*texts: str) -> dict[str, Any]:
    """What agentgateway sends after a call."""
    return {"body": {"choices": [{"message": {"role": "Assistant", "content": text}} for text in texts]}}


def test_openai_clients_moderate_by_the_rules_of_the_account(peer: Peer) -> None:
    """A rule and a category of a moderator flag a text; each text is a decision of its own."""
    found = peer.openai().moderations.create(
        input=["Good morning", f"a {RULE}", "[[sandbox:mod=flagged=hate]]"]
    )

    assert [each.flagged for each in found.results] == [False, True, True]
    assert found.results[1].to_dict()["categories"]["hushgate/FLAGGED_RULE"] is True  # type: ignore[index]
    assert found.results[2].categories.hate
    assert found.results[2].category_scores.hate > 0.5
    assert not found.results[0].categories.hate
    assert [code for _, code in peer.checks()] == ["FLAGGED_RULE", "MESSAGE_CHECKED", "MODERATION_FLAGGED"]


def test_a_rule_with_the_name_of_a_category_flags_no_category(peer: Peer) -> None:
    """Only a moderator's finding does; the client reads no word of a rule."""
    (found,) = peer.openai().moderations.create(input="some violence").results

    assert found.flagged
    assert not found.categories.violence
    assert found.to_dict()["categories"]["hushgate/FLAGGED_RULE"] is True  # type: ignore[index]


def test_openai_clients_read_refusals_as_their_own_errors(peer: Peer) -> None:
    """An image, an empty text and a wrong key are errors of the client's own classes with the field."""
    client, image = (
        peer.openai(max_retries=0),
        {"type": "image_url", "image_url": {"url": "https://e.x/i.png"}},
    )
    parts: Any = [{"type": "text", "text": "a"}, image]
    with pytest.raises(openai.UnprocessableEntityError) as pictured:
        client.moderations.create(input=parts)
    with pytest.raises(openai.UnprocessableEntityError) as empty:
        client.moderations.create(input=["a", ""])
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="hg_wrong").moderations.create(input="a")

    assert (pictured.value.param, empty.value.param) == ("input.1.type", "input.1")
    assert peer.checks() == []


def test_dify_pings_and_moderates_input_and_output(peer: Peer) -> None:
    """What is stopped is replaced by the preset response of the endpoint's address."""
    body = {"point": "app.moderation.input", "params": {"app_id": "1", "inputs": {"a": RULE}, "query": "Hi"}}
    said = {"point": "app.moderation.output", "params": {"app_id": "1", "text": "Good morning"}}
    stopped = peer.answer(f"{DIFY}?preset_response=No.", body)
    cleaned = peer.answer(DIFY, {"point": "app.moderation.output", "params": {"text": "Good\u200b bye"}})

    assert (cleaned["action"], cleaned["text"]) == ("overridden", "Good bye")
    assert peer.answer(DIFY, {"point": "ping"})["result"] == "pong"
    assert (stopped["flagged"], stopped["action"], stopped["preset_response"]) == (
        True,
        "direct_output",
        "No.",
    )
    assert peer.answer(DIFY, said)["flagged"] is False
    assert [code for _, code in peer.checks()] == ["DRAFT_CHECKED", "DRAFT_CHECKED", "FLAGGED_RULE"]


def test_agentgateway_passes_and_rejects(peer: Peer) -> None:
    """The customer's messages since the last answer are checked; the client reads no word of a rule."""
    answered = (("User", f"a {RULE}"), ("Assistant", "No."))
    passed = peer.answer("/request", prompt(("System", "Be kind."), *answered, ("User", "Hello")))
    rejected = peer.answer(
        "/request", prompt(("User", f"a {RULE}"), ("System", "Be kind."), ("User", "Hello"))
    )
    answers = [peer.answer("/response", choices("Hello", text)) for text in ("Bye", RULE)]

    assert passed == {"action": {"reason": None}}
    assert rejected["action"]["status_code"] == 403
    assert rejected["action"]["body"].startswith("Hushgate: FLAGGED_RULE")
    assert RULE not in json.dumps(rejected)
    assert [set(each["action"]) for each in answers] == [{"reason"}, {"body", "status_code", "reason"}]


def test_earlier_lines_make_another_check_and_may_be_long(peer: Peer) -> None:
    """The same message after other lines is a check of its own; of a long answer its beginning is history."""
    before = [(("User", "Hi"), ("Assistant", text)) for text in ("At nine.", "word " * 5_000)]
    answers = [
        peer.answer("/request", prompt(*lines, ("User", "Thanks")), **{"Idempotency-Key": "once"})
        for lines in before
    ]

    assert answers == [{"action": {"reason": None}}] * 2
    assert len(peer.checks()) == 2


def test_an_account_of_litellm_is_text(peer: Peer) -> None:
    """Another value is named; the token's only account does not take its place."""
    asked = {"input_type": "response", "texts": ["a"], "additional_provider_specific_params": {"account": 7}}
    answer = peer.post(LITELLM, asked)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "additional_provider_specific_params.account"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (MODERATIONS, {"input": ["One", "Two"]}),
        (DIFY, {"point": "app.moderation.output", "params": {"text": "One"}}),
        ("/request", prompt(("user", "One"))),
        ("/response", choices("One", "Two")),
        (LITELLM, {"input_type": "response", "texts": ["One", "Two"], "litellm_call_id": "call"}),
    ],
)
def test_a_repeated_request_gets_the_stored_verdicts(peer: Peer, path: str, body: Any) -> None:
    """By the header Idempotency-Key, or LiteLLM's id of a call; without either it is a new check."""
    key = {} if path == LITELLM else {"Idempotency-Key": "once"}
    first, stored = peer.answer(path, body, **key), peer.checks()
    again = peer.answer(path, body, **key)

    assert (again, peer.checks()) == (first, stored)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (MODERATIONS, {"input": "a"}),
        (DIFY, {"point": "app.moderation.output", "params": {"text": "a"}}),
        ("/request", prompt(("user", "a"))),
        ("/response", choices("a")),
        (LITELLM, {"input_type": "response", "texts": ["a"]}),
    ],
)
def test_a_contract_needs_the_scope_and_an_account_of_the_token(
    peer: Peer, database_url: str, path: str, body: Any
) -> None:
    """A foreign account is 403, an owner of several must name one, and without checks nothing is allowed."""
    foreign = peer.post(f"{path}?account=other", body)
    unscoped = peer.post(path, body, Authorization=f"Bearer {token(database_url, TokenScope.PUBLISH)}")
    every = token(database_url, TokenScope.CHECK)
    unnamed = peer.post(path, body, Authorization=f"Bearer {every}")
    with gateway_at(database_url, "redis://127.0.0.1:1/0") as without:
        away = without.post(path, json=body, headers={"Authorization": f"Bearer {peer.key}"})

    assert [each.status_code for each in (foreign, unscoped, unnamed, away)] == [403, 403, 422, 503]
    assert "account" in unnamed.text
    assert peer.checks() == []


def test_a_text_that_could_not_be_moderated_is_an_error_and_no_result(peer: Peer) -> None:
    """OpenAI's clients get 503, LiteLLM and agentgateway a block, Dify a flag: nothing passes unmoderated."""
    away = "[[sandbox:mod=500]]"
    with pytest.raises(openai.InternalServerError):
        peer.openai(max_retries=0).moderations.create(input=away)
    lite = peer.answer(LITELLM, {"input_type": "request", "texts": [away], "request_data": {}})
    dify = peer.answer(DIFY, {"point": "app.moderation.output", "params": {"text": away}})
    rejected = peer.answer("/request", prompt(("user", away)))

    assert (lite["action"], dify["flagged"], rejected["action"]["status_code"]) == ("BLOCKED", True, 403)
