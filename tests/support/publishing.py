"""Programs that publish by HTTP: API tokens, events, and a gateway with its Redis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import orjson
from httpx2 import Response
from redis import Redis
from starlette.testclient import TestClient

from db.people.api_tokens import TokenScope
from db.people.records import EVERY_ACCOUNT, Role
from gateway.app import build_gateway
from review.auth.api_tokens import store_new_token
from tests.support.reviewing import add_person, stored
from tests.support.samples import body_of
from worker.settings import GatewaySettings, Settings

NUMBERS = count(1)


def token(
    url: str,
    *scopes: TokenScope,
    role: Role = Role.ACCOUNT_ADMIN,
    account: str = EVERY_ACCOUNT,
    fail_open: bool = False,
) -> str:
    """A new API token of a new person."""
    person_id = add_person(url, role, account=account).person_id
    now, lasts = datetime.now(UTC), timedelta(days=1)
    key, _ = stored(
        url,
        lambda connection: store_new_token(
            connection, person_id, name="publisher", lasts=lasts, scopes=scopes, now=now, fail_open=fail_open
        ),
    )
    return key


def new_event(user_id: str = "acme", **more: Any) -> dict[str, Any]:
    """An event with an id of its own."""
    return body_of(f"event-{next(NUMBERS)}", user_id=user_id, **more)


class Publisher:
    """A program with an API token."""

    def __init__(self, client: TestClient, key: str) -> None:
        self.client = client
        self.key = key

    def post(self, body: Any, content_type: str = "application/json", **headers: str) -> Response:
        """Publish a body: bytes as they are, other values as JSON."""
        content = body if isinstance(body, bytes) else orjson.dumps(body)
        sent = {"Authorization": f"Bearer {self.key}", "Content-Type": content_type} | headers
        return self.client.post("/api/v1/events", content=content, headers=sent)


def on_stream(redis: Redis) -> list[Any]:
    """The payloads of the stream of events."""
    entries: Any = redis.xrange("hushgate:events")
    return [orjson.loads(fields[b"data"]) for _, fields in entries]


@contextmanager
def gateway_at(url: str, redis_url: str, **environment: str) -> Iterator[TestClient]:
    """A gateway over these servers, without a socket."""
    known = {"DATABASE_URL": url, "REDIS_URL": redis_url}
    with TestClient(build_gateway(GatewaySettings.model_validate(known | environment))) as client:
        yield client


@contextmanager
def checking_gateway(worker: Settings) -> Iterator[TestClient]:
    """A gateway that makes checks with the settings of a worker, without a socket."""
    known = {
        "DATABASE_URL": worker.database_url.get_secret_value(),
        "REDIS_URL": worker.redis_url.get_secret_value(),
    }
    with TestClient(build_gateway(GatewaySettings.model_validate(known), worker)) as client:
        yield client
