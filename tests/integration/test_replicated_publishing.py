"""Publishers that wait for replicas: what they accepted survives a failover, the rest is refused."""

from __future__ import annotations

import gc
import json
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from bench.failover_valkey import Pair
from db.people.api_tokens import TokenScope
from tasks.publishing import celery_task as publish_task
from tasks.publishing.publish import append, publish
from tasks.publishing.replicated import Replication
from tasks.shards.clients import connect_sync
from tests.integration.test_publishing import GOOD, eager_task
from tests.support.cluster import Cluster
from tests.support.publishing import gateway_at, new_event, token
from tests.support.running import eventually
from tests.support.terminal import Shell
from worker.errors import NotReplicated, PayloadRejected

STREAM = "hushgate:events"
ONE = Replication(replicas=1, wait_s=0.3)
WAITING = {"HUSHGATE_PUBLISH_REPLICAS": "1"}


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A primary and its replica."""
    with Pair({}) as servers:
        yield servers


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three primaries with a replica each; redis-py leaves connections to dead nodes to the collector."""
    with Cluster() as nodes:
        nodes.settle()
        yield nodes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def test_what_http_accepted_survives_a_failover(pair: Pair, database_url: str) -> None:
    """202 only when the replica has the events; 503 says to publish them again."""
    key = {"authorization": f"Bearer {token(database_url, TokenScope.PUBLISH)}"}
    with gateway_at(database_url, pair.url, **WAITING) as gateway:
        accepted = gateway.post("/api/v1/events", json=[new_event(), new_event()], headers=key)
        pair.part()
        refused = gateway.post("/api/v1/events", json=new_event(), headers=key)
    pair.kill_primary()

    assert accepted.status_code == 202
    assert (refused.status_code, refused.json()["title"]) == (503, "Too few replicas")
    assert refused.headers["retry-after"] == "5"
    assert pair.promote([each["entry_id"] for each in accepted.json()["events"]], STREAM) == 0


def test_without_the_setting_a_failover_loses_what_was_accepted(pair: Pair, database_url: str) -> None:
    """The reason for the setting: a primary accepts what its replica does not have."""
    key = {"authorization": f"Bearer {token(database_url, TokenScope.PUBLISH)}"}
    with gateway_at(database_url, pair.url) as gateway:
        pair.part()
        accepted = gateway.post("/api/v1/events", json=new_event(), headers=key)
    pair.kill_primary()

    assert accepted.status_code == 202
    assert pair.promote([each["entry_id"] for each in accepted.json()["events"]], STREAM) == 1


def test_the_function_says_what_enough_replicas_have(redis_url: str) -> None:
    """A server without replicas takes no entry, so that repeated attempts do not fill the stream."""
    with Redis.from_url(redis_url) as redis:
        with pytest.raises(NotReplicated) as refused:
            publish(redis, GOOD, replication=ONE)

        assert refused.value.published == ()
        assert "expected 1 replicas with the entries within 0.3 s, got 0" in str(refused.value)
        assert redis.xlen(STREAM) == 0


def test_the_task_goes_back_to_the_broker(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a Redis that is full: the same id is published again."""
    monkeypatch.setattr(publish_task, "PAUSES_S", (0.0,))
    ended = eager_task(redis_url, GOOD, **WAITING)

    assert (ended.state, ended.result.args) == ("REJECTED", ("NotReplicated", True))


def test_the_command_says_how_many_were_published(redis_url: str, tmp_path: Path) -> None:
    """Exit code 4, and what to do."""
    file = tmp_path / "events.ndjson"
    file.write_text(json.dumps(GOOD))
    shell = Shell(environment={"REDIS_URL": redis_url, **WAITING}, folder=tmp_path)
    ended = shell.run("publish", str(file))

    assert ended.code == 4
    assert "0 of 1 were published; publish the others again" in ended.err


def test_attempts_while_a_replica_hangs_leave_few_copies(pair: Pair) -> None:
    """One that a client repeats by itself appends once; after some seconds none appends."""
    retrying = Retry(NoBackoff(), 10)
    with Redis.from_url(pair.url, socket_timeout=0.1, retry=retrying) as redis:
        publish(redis, GOOD, replication=ONE)
        pair.part()
        with pytest.raises(NotReplicated):
            publish(redis, GOOD, replication=ONE)
        assert redis.xlen(STREAM) == 2

        eventually(lambda: _is_refused_at_once(redis), "a publisher that knows of the replica")
        before = redis.xlen(STREAM)
        for _ in range(5):
            assert _is_refused_at_once(redis)
        assert redis.xlen(STREAM) == before


def _is_refused_at_once(redis: Redis) -> bool:
    length = redis.xlen(STREAM)
    with pytest.raises(NotReplicated):
        publish(redis, GOOD, replication=ONE)
    return redis.xlen(STREAM) == length


def test_an_event_that_may_be_published_again_needs_an_id(redis_url: str, tmp_path: Path) -> None:
    """Without one, a repeated event would be decided twice."""
    nameless = {name: value for name, value in GOOD.items() if name != "event_id"}
    file = tmp_path / "events.ndjson"
    file.write_text(json.dumps(nameless))
    shell = Shell(environment={"REDIS_URL": redis_url, **WAITING}, folder=tmp_path)
    ended = shell.run("publish", str(file))
    with Redis.from_url(redis_url) as redis, pytest.raises(PayloadRejected, match="event_id: expected an id"):
        publish(redis, nameless, replication=ONE)

    assert ended.code == 5
    assert "line 1: event_id: expected an id" in ended.err


def test_user_text_does_not_choose_the_error(pair: Pair) -> None:
    """redis-py quotes the command in an error; a word in it is not what the server said."""
    with Redis.from_url(pair.url) as redis:
        redis.config_set("min-replicas-to-write", "2")
        for replication in (ONE, Replication()):
            with pytest.raises(ResponseError, match="NOREPLICAS"):
                publish(redis, GOOD | {"event_id": "WRONGTYPE"}, replication=replication)


def test_a_publisher_to_a_cluster_waits_for_the_replica_of_the_shard(cluster: Cluster) -> None:
    """It is refused while that replica hangs, and goes on with the promoted one."""
    bodies = [json.dumps({"user_id": "u", "conversation_id": "c", "n": n}).encode() for n in range(3)]
    with connect_sync(cluster.url) as client:
        primary = cluster.primary_of(STREAM)
        replica = _replica_pid(cluster, primary)
        os.kill(replica, signal.SIGSTOP)
        try:
            with pytest.raises(NotReplicated):
                append(client, bodies, replication=ONE)
        finally:
            os.kill(replica, signal.SIGCONT)
        cluster.settle()
        ids = list(append(client, bodies, replication=ONE))
        cluster.kill(primary)
        cluster.until_promoted(STREAM, primary)
        cluster.restart(primary)  # it follows the promoted one, and refuses to write
        ids += eventually(lambda: _published(client, bodies), "a publisher that found the new primary")
        with cluster.node(cluster.primary_of(STREAM)) as node:
            stored: Any = node.xrange(STREAM)

        assert len(ids) == 2 * len(bodies)
        assert set(ids) <= {entry_id for entry_id, _ in stored}


def test_a_cluster_without_any_node_is_unavailable(cluster: Cluster) -> None:
    """Both ways to append say so with the error of a server that does not answer."""
    with connect_sync(cluster.url, timeout_s=1) as client:
        for port in cluster.ports:
            cluster.kill(port)
        for replication in (ONE, Replication()):
            with pytest.raises(RedisError):
                append(client, [b"{}"], replication=replication)


def _replica_pid(cluster: Cluster, primary: int) -> int:
    with cluster.node(primary) as node:
        found: Any = node.info("replication")
    with cluster.node(int(found["slave0"]["port"])) as node:
        return int(node.info("server")["process_id"])


def _published(client: Redis, bodies: list[bytes]) -> list[str]:
    with suppress(NotReplicated, RedisError, OSError):
        return list(append(client, bodies, replication=ONE))
    return []
