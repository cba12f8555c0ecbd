"""Changes by the JSON API: reviews, rules, documents and conversations, with the log lines of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import jsonschema
import pytest
from httpx2 import Response
from starlette.testclient import TestClient
from uuid_utils.compat import uuid7

from db.people.records import Role
from review.api.openapi import described_path
from review.routes import PAGES
from tests.support.audited import escalated, record
from tests.support.review_world import World
from tests.support.reviewing import site


class Program:
    """A program with an API token of a person who has every role on one account."""

    def __init__(self, world: World, client: TestClient) -> None:
        self.world, self.client = world, client
        self.person = world.person(*((world.account, role.value) for role in Role))
        self.key = world.token(self.person)

    def send(self, method: str, path: str, **options: Any) -> Response:
        """A request with the token."""
        self.client.cookies.clear()
        bearer = {"Authorization": f"Bearer {self.key}"}
        return self.client.request(method, f"/api/v1{path}", headers=bearer, **options)

    def logged(self, action: str) -> Any:
        """The detail of the person's newest line of the access log with this action."""
        query = "SELECT detail FROM access_log WHERE person_id = %s AND action = %s ORDER BY id DESC LIMIT 1"
        return self.world.one(query, self.person, action)


@pytest.fixture(scope="module")
def running(database_url: str) -> Iterator[tuple[World, TestClient]]:
    """A running site with something of everything."""
    with World(database_url, "acme") as world, site(database_url) as visitor:
        world.add("ai_rules", user_id="acme", version=1, flagged_keywords=["spam"])
        yield world, visitor().client


@pytest.fixture
def program(running: tuple[World, TestClient]) -> Program:
    """A new program."""
    return Program(*running)


@pytest.fixture
def decision(running: tuple[World, TestClient], database_url: str) -> str:
    """A decision that no person has reviewed."""
    made = escalated(user_id="acme")
    record(database_url, made)
    return str(made.decision_id)


def fits(program: Program, name: str, answer: Response) -> bool:
    """Whether an answer is what the OpenAPI document says of the route with this name."""
    document = program.send("GET", "/openapi.json").json()
    (page,) = (page for page in PAGES if page.name == name)
    operation = document["paths"][described_path(page)][page.methods[0].lower()]
    schema = operation["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json(), schema | {"components": document["components"]})
    return True


def test_a_review_is_stored_and_undone(program: Program, decision: str) -> None:
    """With the lines of the access log that the page writes."""
    body = {"ruling": "overturn", "reason": "SHOULD_ANSWER", "note": "We know this.", "corrected": "respond"}
    stored = program.send("POST", f"/decisions/{decision}/reviews", json=body)
    query = "SELECT ruling, note, person, source FROM decision_reviews WHERE id = %s"
    row = program.world._connection.execute(query, (stored.json()["review_id"],)).fetchone()
    undone = program.send("POST", f"/reviews/{stored.json()['review_id']}/undo")
    again = program.send("POST", f"/reviews/{stored.json()['review_id']}/undo")

    assert stored.status_code == 201, stored.text
    assert fits(program, "api_review", stored)
    assert row is not None
    assert (row[0], row[1], row[3]) == ("overturn", "We know this.", "page")
    assert program.logged("review") == {
        "ruling": "overturn", "effect": stored.json()["effect"], "source": "page", "api": True
    }  # fmt: skip
    assert undone.status_code == 200
    assert fits(program, "api_review_undo", undone)
    assert program.logged("undo")["review"] == stored.json()["review_id"]
    assert again.status_code == 409


def test_of_two_reviews_the_second_is_told_of_the_first(
    running: tuple[World, TestClient], decision: str
) -> None:
    """409 names the newer review; with it as `seen` the second is stored too."""
    one, two = Program(*running), Program(*running)
    path = f"/decisions/{decision}/reviews"
    first = one.send("POST", path, json={"ruling": "agree"}).json()["review_id"]
    refused = two.send("POST", path, json={"ruling": "unsure"})
    added = two.send("POST", path, json={"ruling": "unsure", "seen": first})

    assert refused.status_code == 409
    assert first in refused.json()["detail"]
    assert added.status_code == 201


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "ruling"),
        ({"ruling": "maybe"}, "ruling"),
        ({"ruling": 7}, "ruling"),
        ({"ruling": "overturn"}, "reason"),
        ({"ruling": "agree", "seen": "x"}, "seen"),
        ({"ruling": "agree", "color": "red"}, "color"),
        ({"ruling": "agree", "note": "a\0b"}, "note"),
        ({"ruling": "agree", "note": "x" * 4001}, "note"),
        ([], "data"),
    ],
)
def test_a_wrong_review_is_422_with_the_field(program: Program, decision: str, body: Any, field: str) -> None:
    """And nothing is stored."""
    answer = program.send("POST", f"/decisions/{decision}/reviews", json=body)
    query = "SELECT count(*) FROM decision_reviews WHERE decision_id = %s"

    assert answer.status_code == 422, answer.text
    assert [each["field"] for each in answer.json().get("errors", ())] == [field]
    assert program.world.one(query, UUID(decision)) == 0


@pytest.mark.parametrize("content", [b"{bad", b"\xff", b"[" * 9000, b'{"ruling": "\\ud800"}', b""])
def test_a_body_that_is_no_json_is_422(program: Program, decision: str, content: bytes) -> None:
    """A problem, not a defect; another media type is 415."""
    path = f"/decisions/{decision}/reviews"
    bearer = {"Authorization": f"Bearer {program.key}", "Content-Type": "application/json"}
    program.client.cookies.clear()
    answer = program.client.post(f"/api/v1{path}", content=content, headers=bearer)

    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert program.send("POST", path, data={"ruling": "agree"}).status_code == 415


def test_rules_are_read_and_stored_as_a_new_version(program: Program) -> None:
    """Lists that are not named stay; the same rules again store nothing."""
    before = program.send("GET", "/accounts/acme/rules").json()
    new = {"version": before["version"], "flagged_phrases": ["buy now"], "allowed": ["spam filter"]}
    stored = program.send("POST", "/accounts/acme/rules", json=new)
    after = program.send("GET", "/accounts/acme/rules")
    same = program.send("POST", "/accounts/acme/rules", json=new | {"version": stored.json()["version"]})

    assert stored.status_code == 200, stored.text
    assert fits(program, "api_rules_store", stored)
    assert fits(program, "api_rules", after)
    assert stored.json()["version"] == before["version"] + 1
    assert after.json()["flagged_keywords"] == before["flagged_keywords"]
    assert (after.json()["flagged_phrases"], after.json()["allowed"]) == (["buy now"], ["spam filter"])
    assert program.logged("rules") == {
        "from": before["version"], "version": before["version"] + 1, "added": 2, "removed": 0,
        "settings": [], "api": True,
    }  # fmt: skip
    assert (same.json()["version"], same.json()["changed"]) == (stored.json()["version"], False)


def test_rules_made_from_an_older_version_are_409(program: Program) -> None:
    """Nothing is stored; the answer names the version in force."""
    in_force = program.send("GET", "/accounts/acme/rules").json()["version"]
    answer = program.send("POST", "/accounts/acme/rules", json={"version": in_force - 1, "allowed": []})

    assert answer.status_code == 409
    assert f"Version {in_force} is in force" in answer.json()["detail"]


def test_wrong_rules_are_422_with_their_places(program: Program) -> None:
    """A rule with an error, one over two lines, an empty one; counted from 0."""
    in_force = program.send("GET", "/accounts/acme/rules").json()["version"]
    broken = {"version": in_force, "flagged_keywords": ["spam", "/(/", "fine"]}
    lines = {"version": in_force, "allowed": ["a\nb", "ok", " "]}
    long = {"version": in_force, "flagged_phrases": ["ok", "x" * 2_000]}
    fields = [
        [each["field"] for each in program.send("POST", "/accounts/acme/rules", json=body).json()["errors"]]
        for body in (broken, lines, long)
    ]

    assert fields == [["flagged_keywords.1"], ["allowed.0", "allowed.2"], ["flagged_phrases.1"]]
    assert program.send("GET", "/accounts/acme/rules").json()["version"] == in_force


def test_a_document_is_added_listed_and_removed(program: Program) -> None:
    """As a text and as a file; each change has its line of the access log."""
    text = {"title": "Hours", "text": "We are open from nine to six on weekdays."}
    added = program.send("POST", "/accounts/acme/documents", json=text)
    again = program.send("POST", "/accounts/acme/documents", json=text)
    file = {"file": ("returns.md", b"# Returns\n\nSend it back within 30 days.", "text/markdown")}
    uploaded = program.send("POST", "/accounts/acme/documents", files=file, data={"title": "Returns"})
    listed = program.send("GET", "/accounts/acme/documents")
    titles = {each["document_id"]: each["title"] for each in listed.json()["documents"]}
    document_id = added.json()["document_id"]
    removed = program.send("DELETE", f"/accounts/acme/documents/{document_id}")
    detail = program.logged("documents")

    assert (added.status_code, uploaded.status_code, removed.status_code) == (201, 201, 200), added.text
    assert fits(program, "api_document_add", added)
    assert fits(program, "api_documents", listed)
    assert fits(program, "api_document_remove", removed)
    assert again.json()["outcome"] in {"unchanged", "duplicate"}
    assert titles[document_id] == "Hours"
    assert titles[uploaded.json()["document_id"]] == "Returns"
    assert (detail["outcome"], detail["document_id"], detail["api"]) == ("removed", document_id, True)
    assert program.send("DELETE", f"/accounts/acme/documents/{document_id}").status_code == 404


def test_a_document_that_cannot_be_stored_is_422(program: Program) -> None:
    """No text, an unknown format, a file that no reader takes."""
    empty = program.send("POST", "/accounts/acme/documents", json={"text": " "})
    unknown = program.send("POST", "/accounts/acme/documents", json={"text": "a", "format": "docx"})
    file = {"file": ("x.bin", b"\x00\x01", "application/octet-stream")}
    unreadable = program.send("POST", "/accounts/acme/documents", files=file)

    assert [each.status_code for each in (empty, unknown, unreadable)] == [422, 422, 422]
    assert [each.json()["errors"][0]["field"] for each in (empty, unknown)] == ["text", "format"]


def test_a_conversation_is_taken_and_released(program: Program, database_url: str) -> None:
    """The answer is the owner; a second release is 409."""
    made = escalated(user_id="acme")
    record(database_url, made)
    path = f"/accounts/acme/conversations/{made.event.conversation_id}"
    taken = program.send("POST", f"{path}/take")
    released = program.send("POST", f"{path}/release")
    again = program.send("POST", f"{path}/release")

    assert (taken.status_code, taken.json()["owner"], taken.json()["cause"]) == (200, "people", "command")
    assert datetime.fromisoformat(taken.json()["people_until"]) > datetime.now(UTC)
    assert (released.status_code, released.json()["owner"]) == (200, "ai")
    assert again.status_code == 409
    assert fits(program, "api_conversation_take", taken)
    assert program.logged("conversation") == {
        "conversation": made.event.conversation_id, "change": "released", "api": True
    }  # fmt: skip


def test_unknown_objects_are_404(program: Program) -> None:
    """A decision, a review, a document and a conversation that do not exist."""
    unknown = uuid7()
    answers = [
        program.send("POST", f"/decisions/{unknown}/reviews", json={"ruling": "agree"}),
        program.send("POST", "/decisions/x/reviews", json={"ruling": "agree"}),
        program.send("POST", f"/reviews/{unknown}/undo"),
        program.send("DELETE", "/accounts/acme/documents/999999999"),
        program.send("POST", "/accounts/acme/conversations/never seen/take"),
    ]

    assert [each.status_code for each in answers] == [404] * 5
