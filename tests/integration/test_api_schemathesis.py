"""Schemathesis over the whole HTTP API, with every check, and a token of each scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import httpx2
import pytest

from cli.stack import Stack
from db.people.api_tokens import TokenScope
from db.people.records import EVERY_ACCOUNT, Role
from gateway.app import build_gateway
from review.api.openapi import PARAMETER, described_path
from review.app import build_app
from review.http.page_routes import PageRoute
from sandbox.server import SandboxHandle
from tests.support.api_walk import ServedApi, Walked, served, walk
from tests.support.review_world import APPEAL_SECRET, SAMPLES, World
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
UNREACHED: Final = {
    "api_appeal_outcome": "the token's owner has ruled on the decision",
    "api_appeal_take": "the decision has an appeal",
    "api_erasure_confirm": "the walk cancels the erasure first",
    "api_review_undo": "the walk replaces the review first",
}
"""Operations that no request of the walk makes succeed, with what prevents that."""
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
    secret = {"HUSHGATE_APPEAL_SECRET": APPEAL_SECRET}
    review = build_app(settings_at(database_url, REDIS_URL=stack.redis_url, **secret))
    worker = settings_of(database_url, stack.redis_url, sandbox_process)
    gateway = build_gateway(GatewaySettings.model_validate(known), worker)
    with World(database_url, "acme") as world, served(review) as pages, served(gateway) as publishing:
        world.add("ai_rules", user_id="acme", version=1, appeals_enabled=True)
        yield world, (pages, publishing)


def checked(
    api: ServedApi, token: str, names: list[str], *phases: str, cases: int, known: dict[str, Any]
) -> Walked:
    """A run over these operations."""
    accepting = {"": ACCEPTING, **{name: [*ACCEPTING, 422] for name in RELATED_FIELDS}}
    return walk(api, token, names, phases=phases, cases=cases, accepting=accepting, known=known)


def things(world: World, owner: UUID, pages: Iterable[PageRoute]) -> dict[str, Any]:
    """Values with which requests find something: of each name in a path, the account, and the time."""
    names = {name for page in pages for name, _ in PARAMETER.findall(page.path)}
    found = {f"path.{name}": SAMPLES[name](world, owner) for name in sorted(names)}
    if any(page.scope is TokenScope.ANSWER for page in pages):
        found["path.decision_id"] = world.answered().decision_id
    known = {name: value if isinstance(value, int) else str(value) for name, value in found.items()}
    now = datetime.now(UTC).isoformat()
    bodies = {"body.created_at": now, "body.input": "Good morning", "body.action": "dismiss"}
    return known | bodies | {"query.account": world.account}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scope", TokenScope)
def test_the_api_is_as_described_for_a_token_of_each_scope(apis: Any, scope: TokenScope) -> None:
    """Every generated request that the scope allows, valid or not, is answered as described."""
    world, served_apis = apis
    owner = world.person(*((EVERY_ACCOUNT, role.value) for role in Role))
    token = world.token(owner, scope.value)
    failures: list[str] = []
    silent: set[str] = set()
    for api in served_apis:
        pages = [each for each in api.pages if each.scope is scope]
        known = things(world, owner, pages)
        same = [each.name for each in pages if each.name == SAME_PARAMETERS]
        others = [each.name for each in pages if each.name not in same]
        for names, phases, cases in ((others, ("coverage", "fuzzing"), 2), (same, ("fuzzing",), 20)):
            if names:
                walked = checked(api, token, names, *phases, cases=cases, known=known)
                failures += walked.failures
                silent |= {
                    each.name
                    for each in pages
                    if each.name in names and f"{each.methods[0]} {described_path(each)}" not in walked.worked
                }

    assert failures == []
    assert silent <= set(UNREACHED)


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
