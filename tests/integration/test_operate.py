"""Broken deployments: the doctor and the alerts name the cause, as the runbook promises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from redis import Redis

from sandbox.server import SandboxHandle
from tasks.fleet.beats import KEPT_S, beat_key
from tests.support.fleet_signs import STREAM, sign_fleet
from tests.support.running import Running, eventually, running
from tests.support.terminal import Shell


@pytest.fixture
def database_url(url: str) -> str:
    """A database of each test's own."""
    return url


@pytest.fixture
def engine(url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A worker that decides, on a fleet whose beat lives."""
    sign_fleet(redis_url)
    with running(url, redis_url, sandbox) as found:
        yield found


def failing(shell: Shell, *words: str) -> dict[str, str]:
    """Line -> finding and fix, of the lines that fail."""
    rows = shell.run("doctor", *words).rows
    return {row["check"]: f"{row['found']} | {row['fix']}" for row in rows if row["state"] == "fail"}


def fired(shell: Shell) -> set[str]:
    """The alerts that fire."""
    return {row["alert"] for row in shell.run("alerts", "check").rows}


def test_a_killed_beat_is_named(shell: Shell, redis_url: str, tmp_path: Path) -> None:
    """A real beat signs that it lives; killed, it is the only line that fails, and the only alert.

    It leaves no file in the folder where it was started.
    """
    sign_fleet(redis_url)
    (folder := tmp_path / "beat").mkdir()
    with Redis.from_url(redis_url) as redis:
        redis.delete(beat_key(STREAM))
        beat = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "tasks.app", "beat", "--pidfile=", "--loglevel=ERROR"],
            env={**os.environ, **shell.environment, "PYTHONPATH": str(Path(__file__).parents[2])},
            cwd=folder,
            stderr=subprocess.DEVNULL,
        )
        try:
            eventually(lambda: redis.exists(beat_key(STREAM)), "beat's sign of life")
            alive = failing(shell, "--offline")
        finally:
            beat.kill()
            beat.wait()
        redis.expire(beat_key(STREAM), KEPT_S - 300)  # five minutes pass

    assert alive == {}
    assert list(folder.iterdir()) == []
    assert "start hushgate beat" in failing(shell, "--offline")["beat"]
    assert fired(shell) == {"HushgateTasksNotRun"}


def test_a_full_outbox_is_named_with_the_full_redis_behind_it(
    engine: Running, shell: Shell, redis_url: str
) -> None:
    """Decisions go on; the line of the outbox refers to that of the memory, which fails too."""
    user_id = engine.account(documents={"Hours": ["We are open from nine to six on weekdays."]})
    engine.sandbox.set_latency(chat=1.0)
    event_id = engine.publish(user_id, "When are you open on weekdays?")
    engine.redis.config_set("maxmemory", 1_000_000)
    try:
        engine.decided(user_id, event_id)
        engine.database.execute("UPDATE outbox SET created_at = created_at - interval '5 minutes'")
        found, alerts = failing(shell, "--offline"), fired(shell)
    finally:
        engine.redis.config_set("maxmemory", 0)

    assert set(found) >= {"outbox", "redis memory"}
    assert "publishing is refused" in found["redis memory"]
    assert "redis memory above" in found["outbox"]
    assert "HushgateOutboxLate" in alerts
    eventually(lambda: engine.reply(user_id, event_id), "the reply, once Redis has room")


def test_a_revoked_key_is_named(engine: Running, shell: Shell) -> None:
    """The first look says that the model fails and what to call; the second one names the variable."""
    user_id = engine.account(documents={"Hours": ["We are open from nine to six on weekdays."]})
    engine.sandbox.add_rule("chat", "401")
    events = [engine.publish(user_id, "When are you open on weekdays?") for _ in range(25)]
    for each in events:
        engine.decided(user_id, each)
    first, second = failing(shell), failing(shell, "--live")

    assert set(first) == {"model calls"}
    assert "25 of 25 events failed at the model" in first["model calls"]
    assert "hushgate doctor --live" in first["model calls"]
    assert "set HUSHGATE_MODEL_KEY to a key that the endpoint accepts" in second["live model call"]
    assert fired(shell) >= {"HushgateModelErrors"}


def test_a_missing_partition_is_named_and_beat_behind_it(engine: Running, shell: Shell) -> None:
    """Of this month, and of the next ones."""
    month = f"ai_decisions_{datetime.now(UTC):%Y_%m}"
    partitions = engine.rows(
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'ai_decisions'::regclass"
        " AND inhrelid::regclass::text >= %s",
        month,
    )
    for partition in partitions:
        engine.database.execute(f"DROP TABLE {partition['name']}")
    found = failing(shell, "--offline")

    assert set(found) == {"audit partition", "partitions"}
    assert month in found["audit partition"]
    assert "see the line beat" in found["partitions"]
    assert fired(shell) == {"HushgatePartitionsShort"}
    assert engine.decide(engine.account(), "Hello")["event_id"]  # as the first line's fix says
