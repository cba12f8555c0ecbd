"""The client that host applications copy: stream and gateway take what it publishes."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import ResponseError

from db.people.api_tokens import TokenScope
from examples import hushgate_client
from examples.hushgate_client import Refused, post, publish
from tasks.publishing.publish import open_shards
from tests.integration.test_gateway_process import serving
from tests.support.publishing import new_event, on_stream, token

HOST_EVENT = {key: value for key, value in new_event("shop").items() if key != "created_at"}


def test_the_client_needs_only_redis() -> None:
    """A host application installs nothing else."""
    tree = ast.parse(Path(hushgate_client.__file__).read_text())
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    tops = {name.partition(".")[0] for name in imported}

    assert tops - sys.stdlib_module_names == {"redis"}


def test_a_published_event_is_on_the_stream(redis_url: str) -> None:
    """With the time at which it was published, where the host gave none."""
    with Redis.from_url(redis_url) as redis:
        entry_id = publish(redis, HOST_EVENT)
        stored = on_stream(redis)

    assert "-" in entry_id
    assert [{**each, "created_at": ""} for each in stored] == [{**HOST_EVENT, "created_at": ""}]
    assert stored[0]["created_at"].endswith("+00:00")


def test_a_stream_of_several_shards_refuses_the_client(redis_url: str) -> None:
    """No event is lost in a stream that workers do not read."""
    with Redis.from_url(redis_url) as redis:
        open_shards(redis, "hushgate:events", 2)
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            publish(redis, HOST_EVENT)


def test_a_gateway_takes_events_with_a_token_only(database_url: str, redis_url: str, tmp_path: Path) -> None:
    """Its answer has the ids; a wrong token or event is refused with its status."""
    key = token(database_url, TokenScope.PUBLISH)
    with serving(database_url, redis_url, tmp_path / "log") as (url, _):
        answer = post(url, key, [HOST_EVENT])
        with pytest.raises(Refused) as wrong_token:
            post(url, "wrong", [HOST_EVENT])
        with pytest.raises(Refused) as no_event:
            post(url, key, [{"text": "hello"}])
    with Redis.from_url(redis_url) as redis:
        stored = on_stream(redis)

    assert answer
    assert (wrong_token.value.status, no_event.value.status) == (401, 422)
    assert [each["event_id"] for each in stored] == [HOST_EVENT["event_id"]]
