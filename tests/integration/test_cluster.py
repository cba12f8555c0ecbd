"""Shards on a real cluster of three primaries and three replicas, one of which dies."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, cast

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import RedisError

from cli.deployment.start import require_servers
from cli.doctor.servers import cluster_checks
from cli.events import repair
from tasks.backup.streams import finish_load, load_streams, require_empty, save_streams, saved_entry_ids
from tasks.fleet.state import load_stream_state
from tasks.lanes.engine import Engine
from tasks.lanes.stream import EntryGrant, Lanes
from tasks.lanes.upkeep import EngineLimits
from tasks.publishing.publish import append, open_shards
from tasks.repair.marks import existing
from tasks.sending.once_stream import OnceStream, OutgoingEntry, marks_of
from tasks.shards.agreement import current_layout, double
from tasks.shards.clients import close, connect, connect_sync
from tasks.shards.engines import ShardEngines
from tasks.shards.lanes import ShardedLanes
from tasks.stream_upkeep.figures import load_figures
from tasks.stream_upkeep.redis_memory import memory
from tasks.stream_upkeep.trimming import Keep, trim
from tests.support.cluster import PRIMARIES, Cluster
from tests.support.running import eventually
from tests.support.terminal import Shell
from worker.errors import ConfigurationError
from worker.places import Places
from worker.settings import OutgoingStreamSettings, Settings, load

STREAM = "hushgate:events"
CONVERSATIONS = 30


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Six nodes for all tests of this module."""
    with Cluster() as nodes:
        yield nodes
    with warnings.catch_warnings():  # redis-py leaves a connection to a dead node to the garbage collector
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def redis(cluster: Cluster) -> Iterator[Redis]:
    """A publisher's client of the empty cluster."""
    with connect_sync(cluster.url) as client:
        client.flushall(target_nodes="primaries")
        open_shards(client, STREAM, 3)
        yield client


def test_a_node_named_as_one_server_ends_the_process(cluster: Cluster, database_url: str) -> None:
    """Most of its answers would be that a key is elsewhere."""
    other = next(port for port in cluster.ports[:PRIMARIES] if port != cluster.primary_of(STREAM))
    keys = {"OPENAI_API_KEY": "a", "OPENROUTER_API_KEY": "b", "HUSHGATE_BROKER_URL": "redis://127.0.0.1:1"}
    given = keys | {"DATABASE_URL": database_url}

    require_servers(load(Settings, given | {"REDIS_URL": cluster.url}), role=None)
    with pytest.raises(ConfigurationError, match=r"redis\+cluster://"):
        require_servers(load(Settings, given | {"REDIS_URL": f"redis://127.0.0.1:{other}"}), role=None)


def test_a_backup_of_a_cluster_is_restored_to_its_shards(
    redis: Redis, cluster: Cluster, tmp_path: Path
) -> None:
    """Waiting events and the newest ids of three shards."""
    settings = OutgoingStreamSettings.model_validate({"REDIS_URL": cluster.url})
    bodies = [json.dumps({"user_id": "u", "conversation_id": f"c{n}"}).encode() for n in range(9)]
    ids = append(redis, bodies)
    redis.xadd("hushgate:replies", {"key": "k"})
    saved = save_streams(redis, settings, tmp_path / "file")
    client: Any = redis
    client.flushall(target_nodes="primaries")
    require_empty(redis, settings)
    loaded = load_streams(redis, settings, tmp_path / "file")
    finish_load(redis, loaded, last_id=saved.last_id, accepted=20)

    layout = current_layout(redis, STREAM)
    found = [redis.xinfo_stream(each.key) for each in layout.streams()]
    assert sorted(saved_entry_ids(tmp_path / "file")) == sorted(ids)
    assert layout.shards == 3
    assert (sum(each["length"] for each in found), sum(each["entries-added"] for each in found)) == (9, 20)
    assert redis.xlen("hushgate:replies") == 1
    assert set(append(redis, bodies)).isdisjoint(ids)


def test_a_breach_in_a_cluster_is_found_and_repaired(
    redis: Redis, cluster: Cluster, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that a worker of one shard read, and whose lane and owner are lost."""
    monkeypatch.setattr(repair, "SECOND_LOOK_S", 0.0)
    environment = {"DATABASE_URL": database_url, "REDIS_URL": cluster.url, "HOME": str(tmp_path)}
    shell = Shell(environment=environment, folder=tmp_path)
    (entry_id,) = append(redis, [json.dumps({"user_id": "u", "conversation_id": "c"}).encode()])
    place, _ = current_layout(redis, STREAM).place_of(entry_id)

    async def granted(worker: str) -> list[str]:
        client = connect(cluster.url)
        mine = Lanes(client, stream=place.shard.name, worker=worker, keep_bytes=4096, mark=place.shard.mark)
        try:
            await mine.prepare()
            await mine.heartbeat(60_000)
            return [grant.entry_id for grant in (await mine.read(10)).grants]
        finally:
            await close(client)

    first = asyncio.run(granted("w1"))
    for key in list(redis.scan_iter(f"{place.shard.prefix}*")):
        redis.delete(key)
    found = shell.run("repair", "--older-than", "0")
    ended = shell.run("repair", "--older-than", "0", "--fix", "entry-in-no-lane", "--yes")
    after = shell.run("repair", "--older-than", "0")

    assert [row["subject"] for row in found.rows] == [entry_id]
    assert (ended.code, after.code) == (0, 0)
    assert (first, asyncio.run(granted("w2"))) == ([entry_id], [entry_id])


class Worker:
    """The engines of a worker on a thread of its own; events run while ``open`` is set.

    ``granted``: entries that it was given, waiting ones included.
    """

    def __init__(self, url: str) -> None:
        self.granted: set[str] = set()
        self.handled: dict[str, list[str]] = defaultdict(list)
        self.open = threading.Event()
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self._engines: ShardEngines | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.open.set()
        if self._engines is not None:
            self._loop.call_soon_threadsafe(self._engines.drain)
        self._thread.join(30)
        self._loop.close()

    async def _run(self) -> None:
        url, places = self._url, Places(1000)
        limits = EngineLimits(heartbeat_ttl_s=2.0, redis_pause_s=0.05)

        def open_engine(lanes: Lanes) -> Engine:
            return Engine(lanes, self._handle, limits, places=places)

        redis = connect(url)
        lanes = ShardedLanes(redis, stream=STREAM, worker="w", keep_bytes=4096, another=lambda: connect(url))
        self._engines = ShardEngines(lanes, places, open_engine)
        try:
            await self._engines.run()
        finally:
            await close(redis)

    async def _handle(self, grant: EntryGrant) -> None:
        self.granted.add(grant.entry_id)
        if not self.open.is_set():
            await asyncio.to_thread(self.open.wait)
        self.handled[json.loads(grant.payload)["conversation_id"]].append(grant.entry_id)


def publish(redis: Redis, rounds: int) -> list[str]:
    """Publish to every conversation; the ids of the entries."""
    names = [f"c{number}" for _ in range(rounds) for number in range(CONVERSATIONS)]
    payloads = [json.dumps({"user_id": "u", "conversation_id": name}).encode() for name in names]
    return list(append(redis, payloads, stream=STREAM))


def shard_mark(entry_id: str) -> str:
    return entry_id.partition("@")[2]


def of_shard(ids: list[str], mark: str) -> set[str]:
    return {each for each in ids if each.endswith(mark)}


def test_a_shard_whose_primary_dies_pauses_and_the_others_go_on(cluster: Cluster, redis: Redis) -> None:
    """Nothing that replicas had is lost or out of order, and each shard's law of conservation holds."""
    dead_shard = current_layout(redis, STREAM).current()[1]
    with Worker(cluster.url) as worker:
        ids = publish(redis, 10)
        shards = set(map(shard_mark, ids))
        eventually(lambda: shards == set(map(shard_mark, list(worker.granted))), "a grant of each shard")
        cluster.settle()
        cluster.hold_failover(hold=True)
        dead = cluster.primary_of(dead_shard.name)
        cluster.kill(dead)
        worker.open.set()
        living = set(ids) - of_shard(ids, dead_shard.mark)

        def handled() -> set[str]:
            return {each for lane in list(worker.handled.values()) for each in list(lane)}

        eventually(lambda: living <= handled(), "the events of the living shards")
        assert cluster.primary_of(dead_shard.name) == dead
        cluster.hold_failover(hold=False)
        cluster.until_promoted(dead_shard.name, dead)
        eventually(lambda: set(ids) <= handled(), "the events of the dead primary")
        ids += eventually(lambda: published_again(redis), "a publisher that goes on")
        eventually(lambda: set(ids) <= handled(), "later events")
        eventually(lambda: not unfinished(redis), "empty shards")

    for lane in worker.handled.values():
        first_runs = list(dict.fromkeys(lane))
        assert first_runs == sorted(first_runs, key=_place)
    accepted = {each.mark: len(of_shard(ids, each.mark)) for each in current_layout(redis, STREAM).current()}
    assert accepted == counts(redis, "entries-added")
    cluster.restart(dead)
    cluster.settle()


def _place(entry_id: str) -> tuple[int, ...]:
    return tuple(int(part) for part in entry_id.partition("@")[0].split("-"))


def published_again(redis: Redis) -> list[str]:
    """Publish; nothing while the client still looks for the new primary."""
    try:
        return publish(redis, 1)
    except RedisError:
        return []


def counts(redis: Redis, figure: str) -> dict[str, int]:
    """A figure of each shard's stream."""
    shards = current_layout(redis, STREAM).current()
    return {each.mark: int(redis.xinfo_stream(each.name)[figure]) for each in shards}


def unfinished(redis: Redis) -> int:
    return sum(counts(redis, "length").values())


def test_shards_double_on_a_cluster(cluster: Cluster, redis: Redis) -> None:
    """The same step as on one server, while a worker runs on: every event is handled once, in order."""
    with Worker(cluster.url) as worker:
        ids = publish(redis, 3)
        assert double(redis, STREAM)[1] > 0
        worker.open.set()
        eventually(lambda: double(redis, STREAM)[1] == 0, "the doubling")
        ids += publish(redis, 3)
        eventually(lambda: sum(map(len, worker.handled.values())) == len(ids), "all events")

    for name, lane in worker.handled.items():
        assert [each.partition("/")[2] for each in lane] == ["3"] * 3 + ["6"] * 3, name


async def test_the_other_keys_work_on_a_cluster(cluster: Cluster, redis: Redis) -> None:
    """Outgoing streams, their upkeep, memory and the exporter's figures each stay in one slot."""
    publish(redis, 1)
    async with connect(cluster.url) as client:
        stream = OnceStream(client, "hushgate:replies")
        async with stream.lease() as lease:
            assert lease is not None
            entries = [OutgoingEntry(mark=mark, key=mark, body={}) for mark in ("one", "two")]
            assert await lease.put(entries) == 2
        async with stream.lease() as lease:
            assert lease is not None
            assert await lease.sent(["one", "three"]) == ["", None]
            assert await lease.put(entries) == 2
        marks = [marks_of(name) + "one" for name in ("hushgate:replies", "hushgate:escalations")]
        were_sent = await existing(client, marks)
        found = await load_figures(client, "reply", "hushgate:replies")
        trimmed = await trim(client, "hushgate:replies", Keep(read_ms=0, groupless_ms=0))
        used = await memory(client, "hushgate:replies")
        state = await load_stream_state(client, STREAM)

    assert were_sent == [True, False]
    assert (found.entries, trimmed.entries) == (2, 2)
    assert used.used_bytes > 0
    assert (state.accepted, [each.up for each in state.shards]) == (CONVERSATIONS, [True] * 3)


async def test_a_slot_that_no_node_has_is_an_outage_that_ends(cluster: Cluster, redis: Redis) -> None:
    """A client that asked for the slots meanwhile, with commands one by one and together, asks again."""
    owner, known = cluster.primary_of("a"), cast("Any", redis)
    slot = known.keyslot("a")
    for port in sorted(cluster.ports, key=lambda each: each != owner):  # else the owner says it again
        with cluster.node(port) as node:
            node.execute_command("CLUSTER", "DELSLOTS", slot)
    async with connect(cluster.url) as client:
        with pytest.raises(NotConnected, match="no node has the slot"):
            await client.get("a")
        with pytest.raises(NotConnected, match="no node has the slot"):
            await cast("Any", client).pipeline(transaction=False).get("a").execute()
        with cluster.node(owner) as node:
            node.execute_command("CLUSTER", "ADDSLOTS", slot)
        eventually(cluster.is_covered, "the slot")
        assert await client.get("a") is None


def test_doctor_checks_every_node(cluster: Cluster, redis: Redis) -> None:
    """A cluster in which one dead primary stops all shards is a failure."""
    before = {each.check: each.state for each in cluster_checks(redis)}
    with cluster.node(cluster.ports[0]) as node:
        node.config_set("cluster-require-full-coverage", "yes")
        after = {each.check: each.state for each in cluster_checks(redis)}
        node.config_set("cluster-require-full-coverage", "no")

    assert (before["redis coverage"], after["redis coverage"]) == ("ok", "fail")
    assert before["redis replicas"] == "ok"
    assert sum(name.startswith("redis AOF 127.0.0.1:") for name in before) == 3
