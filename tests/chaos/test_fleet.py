"""A fleet under failures: every event is decided once, in order, and answered at most once."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import psycopg
import pytest

from chaos.fleet.world import keep_commit_times
from cli.stack import Stack
from db.schema import migrate
from sandbox.server import SandboxHandle
from tests.chaos.fleet import IN_FLIGHT, Fleet, broken_laws, seed_account, until

pytestmark = pytest.mark.timeout(300)
CONVERSATIONS = [f"c{number}" for number in range(150)]
FEW = ("few-x", "few-y", "few-z")
"""Accounts without rules: their events need no model."""


@pytest.fixture(scope="module")
def fleet(sandbox_process: SandboxHandle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Three workers on servers that may be killed."""
    with Stack() as stack:
        keep_commit_times(stack)
        migrate.upgrade(stack.database_url)
        seed_account(stack.database_url)
        fleet = Fleet(
            stack=stack,
            sandbox=sandbox_process,
            database_url=stack.database_url,
            logs=tmp_path_factory.mktemp("workers"),
        )
        try:
            for _ in range(3):
                fleet.start_worker()
            yield fleet
        finally:
            fleet.stop()


@pytest.fixture(autouse=True)
def _small_latencies(fleet: Fleet) -> None:
    """Every upstream call takes a moment, so that there is always something in flight to kill."""
    fleet.sandbox.reset()
    fleet.sandbox.set_latency(moderations={"low_s": 0.01, "high_s": 0.1}, chat={"low_s": 0.05, "high_s": 0.3})


def all_alive(fleet: Fleet) -> bool:
    """True when no worker ended without a signal."""
    return len(fleet.workers) >= 3 and all(process.poll() is None for process in fleet.workers.values())


def test_a_kill_amid_shared_moderation_requests_loses_nothing(fleet: Fleet) -> None:
    """SIGKILL while requests with several texts wait for their answer; other workers ask again."""
    fleet.sandbox.set_latency(moderations=1.0)
    fleet.publish(150, [f"shared-{number}" for number in range(150)], ["What are your opening hours?"])
    until(lambda: _asks_for_several(fleet.sandbox), "a request with several texts is under way")
    fleet.send(fleet.busy_worker(), signal.SIGKILL)
    fleet.start_worker()
    fleet.settle()

    assert broken_laws(fleet) == []
    assert all_alive(fleet)


def _asks_for_several(sandbox: SandboxHandle) -> bool:
    bodies = [each["body"] for each in sandbox.requests(route="mod") if each["outcome"] == "in_flight"]
    return any(isinstance(body, dict) and isinstance(body["input"], list) for body in bodies)


def test_a_kill_amid_a_group_of_commits_loses_nothing(fleet: Fleet) -> None:
    """SIGKILL while commits of several events wait for a lock; Postgres commits them without their worker."""
    with psycopg.connect(fleet.database_url) as held:
        held.execute("LOCK TABLE event_keys IN SHARE MODE")
        fleet.publish(150, [f"grouped-{number}" for number in range(150)], ["this is spam"])
        killed = fleet.busy_worker()
        until(lambda: fleet.rows(_COMMITTING, f"%:{killed}:%"), "its commits wait")
        fleet.send(killed, signal.SIGKILL)
    fleet.start_worker()
    fleet.settle()
    groups = fleet.rows("SELECT count(*) FROM event_keys GROUP BY xmin::text ORDER BY 1 DESC")

    assert groups[0][0] > 1
    assert broken_laws(fleet) == []
    assert all_alive(fleet)


_COMMITTING = """
    SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE NOT granted AND relation = 'event_keys'::regclass AND application_name LIKE %s
"""


def test_a_killed_redis_comes_back_from_its_file_and_nothing_is_lost(fleet: Fleet) -> None:
    """SIGKILL of Redis twice under load; a worker that starts meanwhile waits, those that run go on."""
    for starts_meanwhile in (False, True):
        fleet.publish(200, CONVERSATIONS)
        fleet.busy_worker()
        fleet.stack.kill_redis()
        if starts_meanwhile:
            fleet.start_worker()
        fleet.stack.start_redis()
        fleet.publish(100, CONVERSATIONS)
        fleet.settle()

    until(lambda: len(fleet.owned()) == 4, "every worker is back")
    assert broken_laws(fleet) == []
    assert all_alive(fleet)


def test_a_killed_postgres_stops_admission_and_loses_nothing(fleet: Fleet) -> None:
    """SIGKILL of Postgres under load; workers hold what they run, one starts meanwhile and waits."""
    fleet.publish(200, CONVERSATIONS)
    fleet.busy_worker()
    fleet.stack.kill_postgres()
    fleet.publish(100, CONVERSATIONS)
    fleet.start_worker()
    fleet.stack.start_postgres()
    fleet.settle()

    until(lambda: len(fleet.owned()) == 5, "every worker is back")
    assert broken_laws(fleet) == []
    assert all_alive(fleet)


def test_while_moderation_is_down_few_events_are_held_and_other_accounts_go_on(fleet: Fleet) -> None:
    """Held events survive a drain and a kill, the rest waits in lanes; all go on when moderation is back."""
    while len(fleet.workers) > 3:
        fleet.send(next(iter(fleet.workers)), signal.SIGTERM)
    rule = fleet.sandbox.add_rule("moderations", "503", value="1")
    for number in range(4 * IN_FLIGHT):
        fleet.publish(1, [f"held-{number}"], ["What are your opening hours?"])
    until(lambda: 0 < sum(fleet.owned().values()) <= 3 * IN_FLIGHT // 4, "no more are held than may be")
    stranger = [f"stranger-{number}" for number in range(IN_FLIGHT)]
    fleet.publish(IN_FLIGHT, stranger, account="without-rules")
    until(
        lambda: _decided(fleet, ("without-rules",)) == _published(fleet, ("stranger-",)),
        "an account that needs no moderation is decided",
    )
    held = fleet.unfinished()
    drained = fleet.send(fleet.busy_worker(), signal.SIGTERM)
    killed = fleet.send(fleet.busy_worker(), signal.SIGKILL)
    fleet.start_worker()
    fleet.start_worker()
    fleet.sandbox.drop_rules(rule)
    fleet.settle()

    assert held > 3 * IN_FLIGHT
    assert (drained, killed) == (0, -signal.SIGKILL)
    assert fleet.rows("SELECT count(*) FROM ai_decisions WHERE degraded") == [(0,)]
    assert broken_laws(fleet) == []


def test_an_unfair_load_is_shared_through_kills(fleet: Fleet) -> None:
    """One account floods, three send a little: workers die, and the few events do not wait for the flood."""
    fleet.publish(25 * IN_FLIGHT, [f"flood-{number}" for number in range(300)])
    for kills in range(2):
        for account in FEW:
            fleet.publish(5, [f"{account}-{kills}"], account=account)
        assert fleet.send(fleet.busy_worker(), signal.SIGKILL) == -signal.SIGKILL
        fleet.start_worker()
        until(lambda: _decided(fleet, FEW) == _published(fleet, FEW), "the few events are decided")
    left = fleet.unfinished()
    fleet.settle()

    assert left > IN_FLIGHT
    assert broken_laws(fleet) == []
    assert all_alive(fleet)


def _decided(fleet: Fleet, accounts: tuple[str, ...]) -> int:
    return sum(row[0] in accounts for row in fleet.rows("SELECT user_id FROM ai_decisions"))


def _published(fleet: Fleet, accounts: tuple[str, ...]) -> int:
    return sum(each.conversation.startswith(accounts) for each in fleet.ledger.published.values())
