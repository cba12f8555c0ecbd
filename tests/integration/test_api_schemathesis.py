"""Schemathesis over the whole HTTP API, with every check, and a token of each scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from cli.stack import Stack
from db.people.api_tokens import TokenScope
from db.people.records import EVERY_ACCOUNT, Role
from gateway.app import build_gateway
from review.api.openapi import PARAMETER
from review.app import build_app
from sandbox.server import SandboxHandle
from tests.support.api_walk import ServedApi, Walked, served, walk
from tests.support.review_world import World
from tests.support.reviewing import settings_at
from tests.support.running import settings_of
from worker.settings import GatewaySettings

RELATED_FIELDS: Final = {
    "api_decisions": "since and until, the confidences, version and account; a cursor has a checksum",
    "api_confidence": "since and until, the confidences, version and account",
    "api_figures": "since and until",
    "api_agreement": "since and until",
    "api_suggestions": "since and until",
    "api_review": "corrected and remedy fit the ruling and the stored decision",
    "api_answer": "the action fits the decision, its held drafts and the text",
    "api_appeal_outcome": "a reason with the outcome restored",
    "api_hold_place": "the subject fits the kind, until is not over",
    "api_erasure_request": "the subject of the kind account is the account's name",
    "api_rules_store": "rules are read as keywords or expressions",
    "api_document_add": "a file has to be readable",
    "api_events": "created_at is near the present time",
    **dict.fromkeys(
        ("contract_litellm", "contract_moderations", "contract_dify", "contract_prompt", "contract_choices"),
        "an account is needed where the token's owner has several; texts are not empty, and no images",
    ),
}
"""Operations that refuse (422) what fits its schema, with the values that have to fit together."""
SAME_PARAMETERS: Final = "api_confidence"
"""Has the parameters of ``api_decisions``, and is therefore not covered value by value."""
ACCEPTING: Final[list[int | str]] = ["2xx", 401, 403, 404, 409, 429]
"""Answers to a request that fits the schema; without 5xx, which the library takes for an answer."""


@pytest.fixture(scope="module")
def apis(
    database_url: str, stack: Stack, sandbox_process: SandboxHandle
) -> Iterator[tuple[World, tuple[ServedApi, ...]]]:
    """Review pages and gateway over a database with something of everything."""
    known = {"DATABASE_URL": database_url, "REDIS_URL": stack.redis_url}
    review = build_app(settings_at(database_url, REDIS_URL=stack.redis_url))
    worker = settings_of(database_url, stack.redis_url, sandbox_process)
    gateway = build_gateway(GatewaySettings.model_validate(known), worker)
    with World(database_url, "acme") as world, served(review) as pages, served(gateway) as publishing:
        world.add("ai_rules", user_id="acme", version=1)
        world.answered()
        yield world, (pages, publishing)


def checked(api: ServedApi, token: str, names: list[str], *phases: str, cases: int) -> Walked:
    """A run over these operations."""
    accepting = {"": ACCEPTING, **{name: [*ACCEPTING, 422] for name in RELATED_FIELDS}}
    return walk(api, token, names, phases=phases, cases=cases, accepting=accepting)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scope", TokenScope)
def test_the_api_is_as_described_for_a_token_of_each_scope(apis: Any, scope: TokenScope) -> None:
    """Every generated request that the scope allows, valid or not, is answered as described."""
    world, served_apis = apis
    token = world.token(world.person(*((EVERY_ACCOUNT, role.value) for role in Role)), scope.value)
    failures: list[str] = []
    for api in served_apis:
        names = [each.name for each in api.pages if each.scope is scope]
        covered = [name for name in names if name != SAME_PARAMETERS]
        if covered:
            failures += checked(api, token, covered, "coverage", "fuzzing", cases=2).failures
        if covered != names:
            failures += checked(api, token, [SAME_PARAMETERS], "fuzzing", cases=20).failures

    assert failures == []


@pytest.mark.parametrize("scope", TokenScope)
def test_a_token_opens_nothing_beyond_its_scope(apis: Any, scope: TokenScope) -> None:
    """403 in the form of the route, whatever the request."""
    world, served_apis = apis
    token = world.token(world.person(*((EVERY_ACCOUNT, role.value) for role in Role)), scope.value)
    answers = {
        page.name: httpx2.request(
            page.methods[0],
            api.url + PARAMETER.sub("1", page.path),
            json={},
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
        )
        for api in served_apis
        for page in api.pages
        if page.scope is not scope
    }

    assert {name for name, answer in answers.items() if answer.status_code != 403} == set()
    assert all(answer.json() for answer in answers.values())
