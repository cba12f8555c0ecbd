"""``hushgate repair``: each breach is made on real servers, found, repaired once, and gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from cli.events import repair
from cli.stack import Stack
from db.repair.model import Breach
from sandbox.server import SandboxHandle
from tasks.repair.kinds import BY_NAME
from tests.support.breaches import (
    LOSSES,
    MAKERS,
    entry_in_no_lane,
    granted,
    reply_sent_unmarked,
)
from tests.support.repairs import (
    REPLIES,
    STREAM,
    World,
    deliver,
    delivered,
    fixed,
    looked,
    lose_entry,
    mark_of,
    marks,
    new_database,
    opened_world,
)
from tests.support.running import eventually, running


@pytest.fixture
def url(stack: Stack, template: str) -> str:
    """A database of the test's own."""
    return new_database(stack, template)


@pytest.fixture(params=[1, 2], ids=["one stream", "two shards"])
def world(
    url: str,
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[World]:
    """An empty Redis whose stream has this number of shards."""
    monkeypatch.setattr(repair, "SECOND_LOOK_S", 0.0)
    with opened_world(url, redis_url, tmp_path, shards=request.param) as made:
        yield made


IN_LANES = frozenset(list(Breach)[:4]) | LOSSES | {Breach.ENTRIES_UNCOUNTED}
CASES = [
    pytest.param(shards, breach, id=f"{breach} {shards}")
    for breach in Breach
    for shards in ((1, 2) if breach in IN_LANES else (1,))
]


@pytest.mark.parametrize(("world", "breach"), CASES, indirect=["world"])
def test_a_breach_is_found_and_repaired(
    world: World, breach: Breach, caplog: pytest.LogCaptureFixture
) -> None:
    """The report changes nothing and names it alone; the repair is logged; the next report is clean."""
    clean = world.repair()
    subjects = MAKERS[breach](world)
    reports = [world.repair(), world.repair("--fix", breach)]
    repaired = world.repair("--fix", breach, "--yes")
    after = world.repair()
    logged = world.sql("SELECT detail FROM access_log WHERE action = 'repair' ORDER BY id")

    assert (clean.code, clean.rows) == (0, [])
    for report in reports:
        assert report.code == 1
        assert [(row["breach"], row["state"]) for row in report.rows] == [(breach, "found")] * len(subjects)
        assert {row["subject"] for row in report.rows} == subjects
    if BY_NAME[breach].fix is None:
        assert (repaired.code, after.code, logged) == (1, 1, [])
        return
    assert [row["state"] for row in repaired.rows] == ["repaired"] * len(subjects)
    assert repaired.code == 0
    assert [row["breach"] for row in after.rows] == [Breach.ENDINGS_MISSING] * (breach in LOSSES)
    assert {row["detail"]["subject"] for row in logged} == subjects
    assert caplog.text.count("breach_repaired") == len(subjects)


def test_every_breach_has_a_repair_and_a_test() -> None:
    """In the order of their declaration."""
    assert list(BY_NAME) == list(MAKERS) == list(Breach)


# --- what a repair leads to


@pytest.mark.parametrize(
    ("world", "breach"),
    [(1, Breach.ENTRY_IN_NO_LANE), (2, Breach.LANE_NOT_QUEUED), (2, Breach.LANE_OF_LOST_WORKER)],
    indirect=["world"],
)
def test_a_worker_gets_a_restored_entry(world: World, breach: Breach) -> None:
    """No worker got it before."""
    MAKERS[breach](world)
    before = granted(world, "w2")
    world.repair("--fix", breach, "--yes")
    after = granted(world, "w2")

    assert (before, len(after)) == ([], 1)


@pytest.mark.parametrize("world", [1], indirect=True)
@pytest.mark.parametrize("breach", [each for each in Breach if BY_NAME[each].fix], ids=str)
def test_a_breach_that_is_gone_meanwhile_is_not_repaired(world: World, breach: Breach) -> None:
    """Two people repair the same report: the second one changes nothing, in neither server."""
    MAKERS[breach](world)
    found = asyncio.run(looked(world, breach))
    first = asyncio.run(fixed(world, breach, found))
    deliver(world)
    before = contents(world)
    second = asyncio.run(fixed(world, breach, found))

    assert first == {each.subject for each in found} != set()
    assert second == set()
    assert contents(world) == before


TABLES = (
    "ai_decisions", "event_keys", "duplicates", "dead_letters", "outbox", "outgoing_events", "messages",
    "held_drafts", "purged", "escalations", "retractions", "webhook_deliveries",
)  # fmt: skip


def contents(world: World) -> dict[str, Any]:
    """The rows of every table that a repair may change, and the values of every key."""
    rows = {
        name: world.sql(f"SELECT to_jsonb(t) AS row FROM {name} t ORDER BY to_jsonb(t)::text")
        for name in TABLES
    }
    with Redis.from_url(world.shell.environment["REDIS_URL"]) as raw:
        found: Any = raw.keys()
        keys = {key.decode(): raw.dump(key) for key in sorted(found)}
    return {**rows, **keys}


@pytest.mark.parametrize("world", [1], indirect=True)
def test_a_reply_that_redis_lost_is_sent_once(world: World) -> None:
    """And one that it still has is not sent again."""
    kept = delivered(world)
    lost = delivered(world)
    lose_entry(world, REPLIES, mark_of(lost))
    world.repair("--fix", Breach.REPLY_NOT_ON_STREAM, "--yes")
    deliver(world)

    assert marks(world, REPLIES) == [mark_of(kept), mark_of(lost)]


@pytest.mark.parametrize("world", [1], indirect=True)
def test_only_the_named_subject_is_repaired(world: World) -> None:
    """Others stay, and the exit code says so."""
    for _ in range(2):
        reply_sent_unmarked(world)
    first = world.repair().rows[0]["subject"]
    world.repair("--fix", Breach.REPLY_SENT_UNMARKED, "--yes", "--subject", first)

    assert len(world.repair().rows) == 1


@pytest.mark.parametrize("world", [1], indirect=True)
def test_a_report_that_its_limit_cut_says_so(world: World) -> None:
    """A repair of the first ones is not the end: exit 1 until the command finds nothing."""
    for _ in range(2):
        reply_sent_unmarked(world)
    words = ("--fix", Breach.REPLY_SENT_UNMARKED, "--yes", "--limit", "1")
    first, second, third = (world.repair(*words) for _ in range(3))

    assert [len(each.rows) for each in (first, second, third)] == [1, 1, 0]
    assert [each.code for each in (first, second, third)] == [1, 1, 0]
    assert "reply-sent-unmarked: only the first 1; repeat the command, or raise --limit" in first.err


@pytest.mark.parametrize("world", [1], indirect=True)
def test_what_is_young_is_no_breach(world: World) -> None:
    """A worker may be about to finish it."""
    reply_sent_unmarked(world)
    entry_in_no_lane(world)

    assert world.shell.run("repair").rows == []


@pytest.mark.parametrize("world", [1], indirect=True)
def test_running_workers_have_no_breach(
    world: World, sandbox: SandboxHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events are decided and replies are sent while the report runs again and again."""
    monkeypatch.setattr(repair, "SECOND_LOOK_S", 0.5)
    with running(world.url, world.shell.environment["REDIS_URL"], sandbox) as engine:
        user_id = engine.account(documents={"Hours": ["We are open from nine to six on weekdays."]})
        published = [engine.publish(user_id, "When are you open on weekdays?") for _ in range(60)]
        found: list[dict[str, Any]] = []

        def ended() -> bool:
            found.extend(world.repair().rows)
            return engine.redis.xlen(STREAM) == 0 and len(marks(world, REPLIES)) == len(published)

        eventually(ended, "all replies")

    assert found == []
