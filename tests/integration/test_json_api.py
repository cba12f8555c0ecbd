"""The JSON API and its description: what the OpenAPI document says is what is answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import jsonschema
import pytest
from starlette.testclient import TestClient

from db.history.conversation_owners import OwnerCause, Takeover, take_conversation
from db.people import api_tokens, changes
from db.people.records import EVERY_ACCOUNT, Role
from db.people.sessions import token_hash
from review.api.openapi import described_path
from review.routes import PAGES
from tests.support.pools import in_pool
from tests.support.review_world import SAMPLES, World
from tests.support.reviewing import add_person, signed_in, site, stored

PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


@pytest.fixture(scope="module")
def face(database_url: str) -> Iterator[tuple[World, TestClient, str]]:
    """A running site with something in it, and an API token of a person who may read everything."""
    with World(database_url, "acme") as world, site(database_url) as visitor:
        yield world, visitor().client, key_for(world, *Role, scopes=("answer", "read"))


def key_for(
    world: World,
    *roles: Role,
    account: str = EVERY_ACCOUNT,
    days: float = 1,
    scopes: tuple[str, ...] = ("read",),
) -> str:
    """An API token of a new person."""
    person_id = world.person(*((account, role.value) for role in roles))
    return world.token(person_id, *scopes, days=days)


def read(client: TestClient, path: str, key: str) -> Any:
    """The answer to who shows a key."""
    client.cookies.clear()
    return client.get(path, headers={"Authorization": f"Bearer {key}"}, follow_redirects=False)


def test_every_page_of_the_json_face_is_described() -> None:
    """A summary and a shape; a new page without them is found here."""
    assert [page.name for page in PAGES if page.api and (not page.summary or not page.response)] == []


def test_the_document_is_openapi(face: tuple[World, TestClient, str]) -> None:
    """The rules of OpenAPI 3.1 that hold without its meta schema: names, references, parameters, schemas."""
    _, client, key = face
    document = read(client, "/api/v1/openapi.json", key).json()

    assert document["openapi"].startswith("3.1.")
    assert set(document["paths"]) == {described_path(page) for page in PAGES if page.api}
    operations = [(path, each) for path, item in document["paths"].items() for each in item.values()]
    assert {(path, method.upper()) for path, item in document["paths"].items() for method in item} == {
        (described_path(page), page.methods[0]) for page in PAGES if page.api
    }
    names = [each["operationId"] for _, each in operations]
    assert len(set(names)) == len(names)
    for path, each in operations:
        described = {(one["name"], one["in"]) for one in each["parameters"]}
        assert {(name, "path") for name in PARAMETER.findall(path)} <= described
        assert len(described) == len(each["parameters"])
        assert all(re.fullmatch(r"[1-5]\d\d", status) for status in each["responses"])
        assert all(answer["description"] for answer in each["responses"].values())
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for reference in re.findall(
        r'"\$ref": ?"([^"]+)"', client.get("/").text + str(document).replace("'", '"')
    ):
        assert reference.rpartition("/")[2] in document["components"]["schemas"], reference


@pytest.mark.parametrize(("path", "days"), [("/api/v1/figures", 1), ("/api/v1/agreement", 30)])
def test_the_document_names_the_default_range(
    face: tuple[World, TestClient, str], path: str, days: int
) -> None:
    """Each path documents the range that it takes without parameters; ranges begin with a whole step."""
    _, client, key = face
    parameters = read(client, "/api/v1/openapi.json", key).json()["paths"][path]["get"]["parameters"]
    (text,) = (each["description"] for each in parameters if each["name"] == "range")
    default = text.rpartition(" ")[2]
    bodies = [read(client, url, key).json() for url in (path, f"{path}?range={default}")]
    lengths = [
        datetime.fromisoformat(body["until"]) - datetime.fromisoformat(body["since"]) for body in bodies
    ]

    assert default == {1: "24h", 30: "30d"}[days]
    assert [-(-length // timedelta(days=1)) for length in lengths] == [days, days]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.api and page.methods == ("GET",)],
    ids=lambda page: page.name,
)
def test_each_path_answers_as_it_is_described(face: tuple[World, TestClient, str], page: Any) -> None:
    """The body of a real answer fits the schema; every documented parameter is taken."""
    world, client, key = face
    document = read(client, "/api/v1/openapi.json", key).json()
    path = PARAMETER.sub(lambda found: str(SAMPLES[found[1]](world, world.person())), page.path)
    answer = read(client, path, key)
    schema = document["paths"][described_path(page)]["get"]["responses"]["200"]["content"][
        "application/json"
    ]["schema"]

    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    jsonschema.validate(answer.json(), schema | {"components": document["components"]})
    for parameter in page.query:
        refused = read(client, f"{path}?{parameter.name}={'x' * 10_000}", key)
        assert refused.status_code in {200, 400, 404}, parameter.name
        if refused.status_code == 400:
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.json()["detail"]


def test_a_key_that_does_not_work_is_401_as_a_problem(face: tuple[World, TestClient, str]) -> None:
    """None, another scheme, an invented one, an expired one, a revoked one, a disabled owner's."""
    world, client, _ = face
    now = datetime.now(UTC)
    revoked, expired, gone = key_for(world, Role.VIEWER), key_for(world, days=-1), key_for(world, Role.VIEWER)
    owners = [
        world.one("SELECT person_id FROM api_tokens WHERE token_hash = %s", token_hash(key))
        for key in (revoked, gone)
    ]
    assert [read(client, "/api/v1/openapi.json", key).status_code for key in (revoked, gone)] == [200, 200]
    stored(world.url, lambda each: api_tokens.revoke_all_tokens(each, owners[0], now=now))
    stored(world.url, lambda each: changes.disable_person(each, owners[1], now=now))
    for header in ("", "Basic aGk6aGk=", "Bearer", "Bearer hg_invented", f"Bearer {revoked}"):
        answer = client.get("/api/v1/openapi.json", headers={"Authorization": header})
        assert answer.status_code == 401, header
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert read(client, "/api/v1/openapi.json", expired).status_code == 401
    assert read(client, "/api/v1/openapi.json", gone).status_code == 401


def test_a_key_has_its_owners_rights_and_no_more(face: tuple[World, TestClient, str]) -> None:
    """A decision of another account is not found; the access log is for auditors."""
    world, client, _ = face
    elsewhere = key_for(world, Role.VIEWER, account="another-shop")
    decision = f"/api/v1/decisions/{world.decision.decision_id}"

    assert read(client, decision, elsewhere).status_code == 404
    assert read(client, "/api/v1/decisions", elsewhere).json()["decisions"] == []
    assert read(client, "/api/v1/access-log", elsewhere).status_code == 403


def test_the_owner_of_a_conversation_is_told_to_who_may_see_its_account(
    face: tuple[World, TestClient, str],
) -> None:
    """The AI's until people take it; then it is in the list, for its own account only."""
    world, client, key = face
    elsewhere = key_for(world, Role.VIEWER, account="another-shop")
    with World(world.url, "owned-shop") as own:
        conversation = own.decision.event.conversation_id
    path = f"/api/v1/accounts/owned-shop/conversations/{conversation}"
    before = read(client, path, key).json()
    taken = Takeover(
        user_id="owned-shop",
        conversation_id=conversation,
        people_until=datetime.now(UTC) + timedelta(hours=1),
        changed_by="ann",
        cause=OwnerCause.COMMAND,
    )
    in_pool(world.url, lambda source: take_conversation(source, taken, datetime.now(UTC)), role=None)
    after = read(client, path, key).json()
    lists = [
        [
            each["user_id"]
            for each in read(client, f"/api/v1/conversations{query}", who).json()["conversations"]
        ]
        for query, who in (
            ("?limit=1", key),
            ("?account=owned-shop", key),
            ("?account=another-shop", key),
            ("", elsewhere),
        )
    ]

    assert (before["owner"], before["cause"]) == ("ai", None)
    assert (after["owner"], after["cause"], after["changed_by"]) == ("people", "command", "ann")
    assert lists == [["owned-shop"], ["owned-shop"], [], []]
    assert read(client, path, elsewhere).status_code == 404
    assert read(client, "/api/v1/conversations?account=acme", elsewhere).status_code == 404
    assert read(client, f"{path} never seen", key).status_code == 404
    assert read(client, "/api/v1/conversations?limit=0", key).status_code == 400


def test_a_key_is_made_shown_once_used_and_revoked(database_url: str) -> None:
    """Only its hash is stored; its owner sees when it was used."""
    person = add_person(database_url, Role.VIEWER)
    with site(database_url) as visitor:
        session = signed_in(visitor, person)
        session.get("/profile/tokens")
        for days in ("0", "366", "-1", "x", "1e2"):
            assert session.post("/profile/tokens", name="report", days=days).status_code == 400
        made = session.post("/profile/tokens", name="report", days="30")
        found = re.search(r"hg_[\w-]{43}", made.text)
        assert found is not None
        key = found[0]

        assert key not in session.get("/profile/tokens").text
        assert read(visitor().client, "/api/v1/decisions", key).status_code == 200

        page = session.get("/profile/tokens").text
        token_id = re.search(r'name="token_id" value="([^"]+)"', page)
        assert token_id is not None
        assert session.post("/profile/tokens/revoke", token_id=token_id[1]).status_code == 303
        assert read(visitor().client, "/api/v1/decisions", key).status_code == 401
    with World(database_url, "keys") as world:
        assert world.one("SELECT count(*) FROM api_tokens WHERE token_hash = %s", token_hash(key)) == 1
        assert world.one("SELECT count(*) FROM api_tokens WHERE prefix = %s", key[:9]) == 1


def test_the_scopes_of_a_key_are_chosen_when_it_is_made(database_url: str) -> None:
    """They are on the page and in the access log; without a choice a token may read, an unknown one: 400."""
    person = add_person(database_url, Role.VIEWER)
    with site(database_url) as visitor:
        session = signed_in(visitor, person)
        session.get("/profile/tokens")
        assert session.post("/profile/tokens", name="n", days="1", scope="admin").status_code == 400
        publisher = session.post("/profile/tokens", name="p", days="1", scope=["publish", "review"])
        assert session.post("/profile/tokens", name="r", days="1").status_code == 200
        found = re.search(r"hg_[\w-]{43}", publisher.text)
        assert found is not None
        refused = read(visitor().client, "/api/v1/decisions", found[0])
        page = session.get("/profile/tokens").text
    with World(database_url, "scopes") as world:
        lines = "FROM access_log WHERE person_id = %s AND action = 'token'"
        logged = world.one(f"SELECT jsonb_agg(detail->'scopes' ORDER BY id) {lines}", person.person_id)

    assert (refused.status_code, "scope read" in refused.json()["detail"]) == (403, True)
    assert "<code>publish, review</code>" in page
    assert "<code>read</code>" in page
    assert logged == [["publish", "review"], ["read"]]


def test_no_other_site_is_told_that_it_may_read(face: tuple[World, TestClient, str]) -> None:
    """No CORS header, whatever origin asks."""
    _, client, key = face
    headers = {"Authorization": f"Bearer {key}", "Origin": "https://evil.example"}
    answer = client.get("/api/v1/decisions", headers=headers)
    asked = client.options("/api/v1/decisions", headers=headers | {"Access-Control-Request-Method": "GET"})

    assert not [name for name in (*answer.headers, *asked.headers) if name.startswith("access-control")]
    assert asked.status_code == 405


def test_confidence_by_conversation_is_that_of_the_decisions(face: tuple[World, TestClient, str]) -> None:
    """A row for each conversation; the log only with the filter; an unknown filter is refused."""
    world, client, key = face
    decision_id = SAMPLES["decision_id"](world, world.person())
    row = read(client, f"/api/v1/decisions/{decision_id}", key).json()
    chosen = urlencode({"account": world.account, "conversation": row["conversation_id"], "since": "all"})
    (found,) = read(client, f"/api/v1/confidence?{chosen}", key).json()["conversations"]
    listed = read(client, "/api/v1/confidence?since=all&limit=500", key).json()["conversations"]
    stranger = key_for(world, Role.VIEWER, account="elsewhere")

    assert (found["user_id"], found["conversation_id"]) == (world.account, row["conversation_id"])
    assert (found["confidence"], found["confidence_log"]) == (row["confidence"], [])
    assert found["high"] == found["replies"]
    assert {each["confidence_log"] for each in listed} == {None}
    assert read(client, "/api/v1/confidence?since=all", stranger).json() == {"conversations": []}
    assert read(client, "/api/v1/confidence?tiers=low", key).status_code == 400
