"""Publishing by HTTP: what is accepted, what is refused and how, and what is on the stream afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis
from starlette.testclient import TestClient

from db.people.api_tokens import TokenScope
from db.people.records import Role
from gateway import intake
from gateway.intake import Intake, redis_full
from review.app import build_app
from review.http.visit import SESSION_COOKIE
from tests.support.publishing import Publisher, gateway_at, new_event, on_stream, token
from worker.errors import StreamFull
from worker.settings import GatewaySettings

LINES = "application/x-ndjson"
UNREACHABLE = "redis://127.0.0.1:1/0"


@pytest.fixture(scope="module")
def key(database_url: str) -> str:
    """An API token that may publish for every account."""
    return token(database_url, TokenScope.PUBLISH)


@pytest.fixture(scope="module")
def gateway(database_url: str, stack: Any) -> Iterator[TestClient]:
    """A gateway."""
    with gateway_at(database_url, stack.redis_url) as client:
        yield client


@pytest.fixture
def publisher(gateway: TestClient, key: str, valkey: Redis) -> Publisher:
    """A program that may publish."""
    return Publisher(gateway, key)


def lines(*events: Any) -> bytes:
    """Events as NDJSON."""
    return b"\n".join(json.dumps(event).encode() for event in events)


def test_one_event_is_accepted_with_the_id_of_its_entry(publisher: Publisher, valkey: Redis) -> None:
    """The payload on the stream is the body, byte for byte."""
    event = new_event()
    body = json.dumps(event, indent=2).encode()
    answer = publisher.post(body)
    entries: Any = valkey.xrange("hushgate:events")
    ((entry_id, fields),) = entries

    assert answer.status_code == 202
    assert answer.json()["events"] == [
        {"item": 0, "event_id": event["event_id"], "user_id": "acme", "entry_id": entry_id.decode()}
    ]
    assert fields == {b"data": body}


@pytest.mark.parametrize("form", ["array", "lines", "other lines", "cloud batch"])
def test_several_events_are_accepted_in_their_order(publisher: Publisher, valkey: Redis, form: str) -> None:
    """As an array or as lines; each answer has its event."""
    events = [new_event(), new_event("shop/ü"), new_event()]
    bodies: dict[str, tuple[Any, str]] = {
        "array": (events, "application/json; charset=utf-8"),
        "lines": (lines(*events) + b"\n\n", LINES),
        "other lines": (lines(*events).replace(b"\n", b"\r\n"), "application/ndjson"),
        "cloud batch": (
            [
                {"specversion": "1.0", "id": each["event_id"], "source": "/s", "type": "t", "data": each}
                for each in events
            ],
            "application/cloudevents-batch+json",
        ),
    }
    body, media = bodies[form]
    answer = publisher.post(body, media)

    assert answer.status_code == 202, answer.text
    assert [each["event_id"] for each in answer.json()["events"]] == [each["event_id"] for each in events]
    assert len(on_stream(valkey)) == 3
    assert [each.get("data", each) for each in on_stream(valkey)] == events


def test_a_repeated_request_has_the_same_answer(publisher: Publisher) -> None:
    """202 for the same ids; workers decide each id once."""
    event = new_event()
    answers = [publisher.post(event) for _ in range(2)]

    assert [each.status_code for each in answers] == [202, 202]
    assert {each.json()["events"][0]["event_id"] for each in answers} == {event["event_id"]}


REQUIRED = ("user_id", "scope", "conversation_id", "message_id", "author_id", "created_at")
EMPTY = [(0, name) for name in REQUIRED]
"""The problems of an object without any field of an event."""


def without(name: str) -> dict[str, Any]:
    """An event that lacks one field."""
    return {field: value for field, value in new_event().items() if field != name}


@pytest.mark.parametrize(
    ("body", "media", "errors"),
    [
        ([without("text"), new_event() | {"scope": "mail"}], None, [(0, "text"), (1, "scope")]),
        ([without("event_id")], None, [(0, "event_id")]),
        (without("event_id"), None, [(0, "event_id")]),
        (b'{"a": 1}\n{bad\n"no"\nnull', LINES, [*EMPTY, (1, "data"), (2, "data"), (3, "data")]),
        ([7, None, [], "x"], None, [(0, "data"), (1, "data"), (2, "data"), (3, "data")]),
        (b"[", None, [(None, "data")]),
        (b'["\xff"]', None, [(None, "data")]),
        (b"[" * 5000, None, [(None, "data")]),
        (b"", None, [(None, "data")]),
        (b"[]", None, [(None, "data")]),
        (b"\n\n", LINES, [(None, "data")]),
        (b'[{"text": "\\ud800"}]', None, EMPTY),
        ([new_event() | {"user_id": "*"}], None, [(0, "user_id")]),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_body_with_a_bad_event_publishes_nothing(
    publisher: Publisher, valkey: Redis, body: Any, media: str | None, errors: list[tuple[int | None, str]]
) -> None:
    """422 names every bad event, its field, the expectation and what came."""
    answer = publisher.post(body, media or "application/json")
    found = answer.json()

    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert [(each["item"], each["field"]) for each in found["errors"]] == errors
    assert all(each["expected"] and each["got"] for each in found["errors"])
    assert found["detail"]
    assert valkey.exists("hushgate:events") == 0


def test_a_bad_event_in_a_batch_is_answered_for_itself(publisher: Publisher, valkey: Redis) -> None:
    """207 names the bad ones and the entries of the others, by their places in the request."""
    good = [new_event(), new_event(), new_event() | {"text": "half \ud83d", "language": "en_US"}]
    batch = [good[0], without("text"), good[1], without("event_id"), good[2]]
    answer = publisher.post(json.dumps(batch).encode())
    found = answer.json()

    assert answer.status_code == 207
    assert [(each["item"], each["event_id"]) for each in found["events"]] == [
        (item, batch[item]["event_id"]) for item in (0, 2, 4)
    ]
    assert [(each["item"], each["field"]) for each in found["errors"]] == [(1, "text"), (3, "event_id")]
    assert valkey.xlen("hushgate:events") == 3


def test_every_wrong_field_of_an_event_is_named(publisher: Publisher, valkey: Redis) -> None:
    """A developer corrects them at once, not one request after the other."""
    event = new_event() | {"scope": "mail", "created_at": "now", "author_id": 7}
    del event["message_id"]
    answer = publisher.post(event)

    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == [
        "scope", "message_id", "author_id", "created_at"
    ]  # fmt: skip
    assert valkey.xlen("hushgate:events") == 0


def test_bad_lines_are_answered_for_themselves(publisher: Publisher, valkey: Redis) -> None:
    """A broken line does not refuse those around it."""
    body = b"\n".join([json.dumps(new_event()).encode(), b"{bad", json.dumps(new_event()).encode()])
    answer = publisher.post(body, LINES)

    assert answer.status_code == 207
    assert [each["item"] for each in answer.json()["errors"]] == [1]
    assert valkey.xlen("hushgate:events") == 2


@pytest.mark.parametrize(
    ("content_type", "headers"),
    [
        ("text/plain", {}),
        ("", {}),
        ("application/x-www-form-urlencoded", {}),
        (LINES, {"Content-Encoding": "gzip"}),
    ],
)
def test_another_media_type_is_415(
    publisher: Publisher, valkey: Redis, content_type: str, headers: dict[str, str]
) -> None:
    """Also a compressed body, which could be of any size."""
    answer = publisher.post(new_event(), content_type, **headers)

    assert (answer.status_code, valkey.exists("hushgate:events")) == (415, 0)


def test_too_many_events_or_bytes_are_413(publisher: Publisher, valkey: Redis) -> None:
    """By the count of events, by the declared length, and by the bytes of a body without a length."""
    key = {"Authorization": f"Bearer {publisher.key}", "Content-Type": LINES}
    many = publisher.post(lines(*(new_event() for _ in range(501))), LINES)
    large = publisher.post(new_event(text="x" * 4_200_000))
    streamed = publisher.client.post("/api/v1/events", content=iter([b"x" * 3_000_000] * 2), headers=key)
    unread = publisher.post(b"[" + b"1," * 501 + b"unread")

    assert [each.status_code for each in (many, large, streamed, unread)] == [413, 413, 413, 413]
    assert {each.headers["content-type"] for each in (many, large, streamed)} == {"application/problem+json"}
    assert "at most 500 events" in many.json()["detail"]
    assert {each.json()["detail"] for each in (large, streamed)} == {
        "The body: expected at most 4,194,304 bytes, got more."
    }
    assert valkey.exists("hushgate:events") == 0


def test_one_payload_over_the_workers_limit_is_422(database_url: str, key: str, redis_url: str) -> None:
    """It would become a dead letter."""
    with gateway_at(database_url, redis_url) as client:
        answer = Publisher(client, key).post(new_event(metadata={"pad": "x" * 262_144}))

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["expected"] == "at most 262144 bytes"


@pytest.mark.parametrize("scopes", [(TokenScope.READ,), (TokenScope.REVIEW, TokenScope.MANAGE)])
def test_a_token_needs_the_scope(
    gateway: TestClient, database_url: str, valkey: Redis, scopes: tuple[TokenScope, ...]
) -> None:
    """403 names the missing scope; without a token, or with an invented one, 401."""
    refused = Publisher(gateway, token(database_url, *scopes)).post(new_event())
    invented = Publisher(gateway, "hg_invented").post(new_event())
    none = gateway.post("/api/v1/events", json=new_event())

    assert [each.status_code for each in (refused, invented, none)] == [403, 401, 401]
    assert "scope publish" in refused.json()["detail"]
    assert none.headers["www-authenticate"].startswith("Bearer")
    assert valkey.exists("hushgate:events") == 0


def test_a_token_publishes_for_the_accounts_of_its_owner_only(
    gateway: TestClient, database_url: str, valkey: Redis
) -> None:
    """403 names every event of another account, whether that exists or not; nothing is published."""
    own = Publisher(gateway, token(database_url, TokenScope.PUBLISH, account="acme"))
    viewer = Publisher(gateway, token(database_url, TokenScope.PUBLISH, role=Role.LEAD, account="acme"))
    mixed = own.post([new_event(), new_event("other"), new_event(), new_event("none")])

    assert mixed.status_code == 403
    assert [(each["item"], each["got"]) for each in mixed.json()["errors"]] == [(1, "other"), (3, "none")]
    assert viewer.post(new_event()).status_code == 403
    assert valkey.exists("hushgate:events") == 0
    assert own.post([new_event(), new_event()]).status_code == 202


def test_too_many_events_a_second_are_429(
    database_url: str, redis_url: str, valkey: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A burst passes; then Retry-After says how long to wait, and nothing is published or charged."""
    monkeypatch.setattr(intake, "MOST_EVENTS", 4)
    with gateway_at(database_url, redis_url, HUSHGATE_INGEST_RATE="0.01") as client:
        one, other = (Publisher(client, token(database_url, TokenScope.PUBLISH)) for _ in range(2))
        burst = [one.post([new_event(), new_event()]).status_code for _ in range(2)]
        refused, of_token = one.post(new_event()), one.post(new_event("elsewhere"))
        elsewhere, of_account = other.post(new_event("elsewhere")), other.post(new_event())

    assert burst == [202, 202]
    assert [each.status_code for each in (refused, of_token, of_account)] == [429, 429, 429]
    assert 95 <= int(refused.headers["retry-after"]) <= 100
    assert elsewhere.status_code == 202
    assert len(on_stream(valkey)) == 5


def test_without_redis_events_are_refused(database_url: str, key: str) -> None:
    """503 with Retry-After; the gateway is alive, and not ready."""
    with gateway_at(database_url, UNREACHABLE) as client:
        answer = Publisher(client, key).post(new_event())
        health = [client.get(path).status_code for path in ("/healthz", "/readyz")]

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert health == [200, 503]


def test_on_a_full_redis_events_are_refused(publisher: Publisher, valkey: Redis) -> None:
    """503 says that Redis is full; when it has room again, the same request is accepted."""
    event = new_event()
    valkey.config_set("maxmemory", 1)
    try:
        refused = publisher.post([event, new_event()])
    finally:
        valkey.config_set("maxmemory", 0)

    assert (refused.status_code, refused.json()["title"]) == (503, "Redis is full")
    assert valkey.exists("hushgate:events") == 0
    assert publisher.post(event).status_code == 202


def test_on_a_full_redis_a_part_of_the_events_may_be_published() -> None:
    """Of several shards the first ones may have taken theirs; then the answer does not deny it."""
    some, none = (redis_full(StreamFull("full", published=ids)) for ids in (["1-0@0/2"], []))

    assert "none of the events" in str(none.text)
    assert "none" not in str(some.text)
    assert "Publish the same events again" in str(some.text)


def test_without_postgres_no_token_can_be_checked(redis_url: str) -> None:
    """503 before the body is used."""
    with gateway_at("postgresql://u:p@127.0.0.1:1/none", redis_url) as client:
        answer = Publisher(client, "hg_any").post(new_event())

    assert answer.status_code == 503


def test_the_gateway_ignores_the_session_of_a_browser(gateway: TestClient) -> None:
    """Browsers send the cookie of the review pages to every port of a host."""
    cookie = {"Cookie": f"{SESSION_COOKIE}=of-the-review-pages"}
    answers = [gateway.get(path, headers=cookie) for path in ("/healthz", "/readyz", "/api/v1/openapi.json")]

    assert [each.status_code for each in answers] == [200, 200, 401]


def test_the_gateway_serves_nothing_else(gateway: TestClient, database_url: str) -> None:
    """Unknown addresses and methods are problems; its document describes publishing."""
    reader = {"Authorization": f"Bearer {token(database_url, TokenScope.READ)}"}
    document = gateway.get("/api/v1/openapi.json", headers=reader).json()

    assert gateway.get("/decisions").status_code == 404
    assert gateway.get("/api/v1/events").status_code == 405
    assert gateway.get("/readyz").status_code == 200
    assert set(document["paths"]) == {
        "/api/v1/events",
        "/api/v1/openapi.json",
        "/v1/checks",
        "/v1/moderations",
        "/beta/litellm_basic_guardrail_api",
        "/dify/moderation",
        "/request",
        "/response",
    }
    assert set(document["paths"]["/api/v1/events"]["post"]["requestBody"]["content"]) >= {
        "application/json",
        LINES,
    }


def test_the_review_server_takes_events_too(
    database_url: str, redis_url: str, valkey: Redis, key: str
) -> None:
    """At the same address, with the same limits, also above the usual size of a form; it is described."""
    known = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    settings = GatewaySettings.model_validate(known)
    app = build_app(settings, (Intake(settings).route(),))
    reader = {"Authorization": f"Bearer {token(database_url, TokenScope.READ)}"}
    with TestClient(app, base_url="http://127.0.0.1") as client:
        publisher = Publisher(client, key)
        answers = [
            publisher.post([new_event(metadata={"pad": "x" * size}) for _ in range(20)])
            for size in (10, 200_000, 250_000)
        ]
        document = client.get("/api/v1/openapi.json", headers=reader).json()

    assert [each.status_code for each in answers] == [202, 202, 413]
    assert answers[2].headers["content-type"] == "application/problem+json"
    assert len(on_stream(valkey)) == 40
    assert "/api/v1/events" in document["paths"]
