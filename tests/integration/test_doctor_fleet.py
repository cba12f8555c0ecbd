"""``hushgate doctor`` on a fleet: each line is ok on a healthy one, and each can be made to fail."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from pydantic import SecretStr
from redis import Redis

from cli.doctor.fleet import LINES
from cli.doctor.servers import clock_check
from db.account_settings import accounts
from db.model_servers.stored import store_servers
from db.pool import Pool
from tasks.alerts.declared import ALERTS
from tasks.fleet.beats import beat_key, sign_beat, tasks_key
from tests.integration.test_alerts import decide
from tests.support.fleet_signs import STREAM, sign_fleet
from tests.support.pools import in_pool
from tests.support.seeding import seed_document
from tests.support.terminal import Ended, Shell, shell_at
from worker.presets import new_account
from worker.settings import ModelRole, StoredServer

WRONG: Final = """
    INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at)
    VALUES ('shop', 'e', gen_random_uuid(), 'c', 'm', 'chat', 'Hello', now() - interval '5 minutes');
    INSERT INTO unmoderated_texts
        (decision_id, decided_at, user_id, conversation_id, message_id, author_id, event_id, scope, roles)
    VALUES (gen_random_uuid(), now() - interval '2 hours', 'shop', 'c', 'm', 'a', 'e', 'chat', '{{user}}');
    INSERT INTO queues (id, name, kind) VALUES ('{queue}', 'Broken', 'escalations');
    INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id)
    VALUES ('{queue}', gen_random_uuid(), now() - interval '2 days', 'shop');
    INSERT INTO ai_rules (user_id, version, budget_day_usd) VALUES ('shop', 1, 0.01);
    INSERT INTO account_costs (user_id, grain, start, purpose, model, slot, decisions, prompt_tokens,
        completion_tokens, nano_usd, unpriced_tokens)
    VALUES ('shop', 'day', (now() AT TIME ZONE 'utc')::date, 'completion', 'm', 0, 1, 1, 1, 20000000, 0);
    INSERT INTO budget_crossings (user_id, grain, start, budget_usd, action)
    VALUES ('shop', 'day', (now() AT TIME ZONE 'utc')::date, 0.01, 'alert');
    INSERT INTO candidates (id, user_id, base_version, changes, source, created_by)
    VALUES ('{queue}', 'shop', 1, '{{"flagged_keywords": ["lamp"]}}', 'person', 'kim');
    INSERT INTO trials (id, user_id, kind, candidate_id, state, base_version, changes)
    VALUES ('{queue}', 'shop', 'shadow', '{queue}', 'failed', 1, '{{"flagged_keywords": ["lamp"]}}');
    INSERT INTO webhook_endpoints
        (id, user_id, url, types, secret, secret_hint, created_at, created_by, failing_since)
    VALUES
        ('{endpoint}', 'shop', 'https://example.org', '{{reply.created}}', 'whsec_x', 'w', now(), 'kim',
         now());
    WITH event AS (
        INSERT INTO outgoing_events (user_id, conversation_id, type, key, body, created_at)
        VALUES ('shop', 'c', 'reply.created', 'k', '{{}}', now()) RETURNING id
    )
    INSERT INTO webhook_deliveries
        (endpoint_id, event_row, user_id, conversation_id, next_attempt_at, created_at)
    SELECT '{endpoint}', id, 'shop', 'c', now(), now() - interval '1 hour' FROM event;
"""
UNPRICED: Final = """
    INSERT INTO account_costs (user_id, grain, start, purpose, model, slot, decisions, prompt_tokens,
        completion_tokens, nano_usd, unpriced_tokens)
    SELECT name, 'month', date_trunc('month', now() AT TIME ZONE 'utc')::date, 'judge', 'm', 0, 1, 1, 1, 0, 2
    FROM (VALUES ('limited'), ('free')) AS accounts (name)
"""


@pytest.fixture
def shell(url: str, redis_url: str, tmp_path: Path) -> Shell:
    """A shell whose servers run."""
    return shell_at(
        tmp_path,
        DATABASE_URL=url,
        REDIS_URL=redis_url,
        OPENAI_API_KEY="sandbox",
        OPENROUTER_API_KEY="sandbox",
    )


def line_of(ended: Ended, check: str) -> dict[str, str]:
    """One line of the doctor."""
    return next(row for row in ended.rows if row["check"] == check)


def states(ended: Ended) -> dict[str, str]:
    return {row["check"]: row["state"] for row in ended.rows}


def break_everything(url: str, redis_url: str) -> None:
    """No worker, no beat, old entries, late replies, webhooks and reviews, no partitions, a failing model."""
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
        redis.xadd(STREAM, {"data": b"{}"}, id="1-1")
    now = datetime.now(UTC)
    decide(url, now, "LLM_ERROR", 60)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(WRONG.format(queue=uuid4(), endpoint=uuid4()))
        later = connection.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'ai_decisions'::regclass"
            " AND inhrelid::regclass::text > %s",
            (f"ai_decisions_{now:%Y_%m}",),
        ).fetchall()
        for (partition,) in later:
            connection.execute(f"DROP TABLE {partition}")


ELSEWHERE = {
    "HushgateServerAway",
    "HushgateEventsLost",
    "HushgateRedisNearlyFull",
    "HushgateUpstreamNotCalled",
    "HushgateClockWrong",
}


def test_every_alert_is_in_one_line() -> None:
    """Others have checks of their own, such as the memory of Redis."""
    judged = sorted(name for line in LINES for name in line.alerts)

    assert judged == sorted({each.name for each in ALERTS} - ELSEWHERE)


def test_each_line_is_ok_on_a_healthy_fleet_and_fails_on_a_broken_one(
    shell: Shell, url: str, redis_url: str
) -> None:
    """The same lines; the exit code says whether one failed."""
    sign_fleet(redis_url)
    healthy = shell.run("doctor", "--offline")
    break_everything(url, redis_url)
    broken = shell.run("doctor", "--offline")

    assert healthy.code == 0, healthy.out
    assert broken.code == 1
    for line in LINES:
        assert states(healthy)[line.check] == "ok", line
        assert states(broken)[line.check] == line.state, line
    assert states(broken)["webhook endpoints"] == "warn"
    found = {row["check"]: row for row in broken.rows}
    assert found["workers"]["found"].startswith("0 alive, 1 expected")
    assert "5 minutes" not in found["outbox"]["found"]
    assert found["outbox"]["found"].startswith("1 replies wait, the oldest for 30")
    assert found["beat"]["fix"].endswith("(docs/alerts.md, HushgateTasksNotRun)")


@pytest.mark.parametrize(
    ("command", "check"), [("evalsha", "fleet in redis"), ("info", "redis"), ("xinfo", "fleet in redis")]
)
def test_a_command_that_redis_refuses_is_a_failure(
    url: str, redis_url: str, tmp_path: Path, command: str, check: str
) -> None:
    """A managed Redis may forbid scripts: no worker could work, and no other check would show it."""
    sign_fleet(redis_url)
    place = urlsplit(redis_url)
    limited = place._replace(netloc=f"limited:secret@{place.netloc.rpartition('@')[2]}").geturl()
    with Redis.from_url(redis_url) as redis:
        redis.execute_command("ACL", "SETUSER", "limited", "on", ">secret", "~*", "+@all", f"-{command}")
        try:
            ended = shell_at(tmp_path, DATABASE_URL=url, REDIS_URL=limited).run("doctor", "--offline")
        finally:
            redis.execute_command("ACL", "DELUSER", "limited")

    assert ended.code == 1
    assert line_of(ended, check)["state"] == "fail"
    assert f"'{command}" in line_of(ended, check)["found"]
    assert "login of REDIS_URL" in line_of(ended, check)["fix"]


def test_a_beat_whose_tasks_no_worker_runs_is_found(shell: Shell, redis_url: str) -> None:
    """Beat lives, and is not to be started again."""
    sign_fleet(redis_url)
    with Redis.from_url(redis_url) as redis:
        redis.delete(f"{{{STREAM}}}:tasks")
    (beat,) = (row for row in shell.run("doctor", "--offline").rows if row["check"] == "beat")

    assert beat["state"] == "fail"
    assert "beat sends tasks, but no worker has run one" in beat["found"]


@pytest.mark.parametrize(
    ("ahead_s", "state", "found"),
    [
        (0.4, "ok", "0.4 s ahead of the clock of Postgres"),
        (-1.9, "ok", "1.9 s behind the clock of Postgres"),
        (2.1, "warn", "2.1 s ahead of the clock of Postgres"),
        (-90, "warn", "90.0 s behind the clock of Postgres"),
    ],
)
def test_a_clock_that_differs_is_found(ahead_s: float, state: str, found: str) -> None:
    """From two seconds on; ages of events are differences of clocks."""
    check = clock_check("redis to postgres clock", ahead_s, "the clock of Postgres")

    assert (check.state, check.found) == (state, found)


@pytest.mark.parametrize(("held", "state"), [(0, "ok"), (1, "ok"), (9, "warn")])
def test_the_judge_is_named_with_the_drafts_that_it_did_not_read(
    shell: Shell, url: str, redis_url: str, held: int, state: str
) -> None:
    """One of twenty is no warning; a judge that is off is one."""
    sign_fleet(redis_url)
    now = datetime.now(UTC)
    decide(url, now, "REPLIED", 19)
    decide(url, now, "HELD_UNREAD", held)
    (on,) = (row for row in shell.run("doctor", "--offline").rows if row["check"] == "judge")
    switched = shell.run("doctor", "--offline", env={"HUSHGATE_JUDGE": "off"})
    (off,) = (row for row in switched.rows if row["check"] == "judge")

    assert (on["state"], off["state"]) == (state, "warn")
    assert on["found"].startswith("openai/gpt-4.1-mini (HUSHGATE_MODEL) reads each draft once")
    assert f"{held} drafts held unread" in on["found"]
    assert "wait for people" in off["found"]


def test_without_a_model_the_judge_is_not_called_switched_off(shell: Shell) -> None:
    """The line models says what is missing."""
    names = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL")
    rows = shell.run("doctor", "--offline", env=dict.fromkeys(names)).rows

    assert [row["state"] for row in rows if row["check"] in ("models", "judge")] == ["fail"]


def test_json_is_printed_on_a_terminal_too(shell: Shell) -> None:
    """One object a line, with the keys of a pipe."""
    ended = shell.on_terminal("doctor", "--offline", "--json", columns=400)

    rows = [json.loads(line) for line in ended.out.splitlines() if line.startswith("{")]
    assert {"python", "workers", "beat", "outbox"} <= {row["check"] for row in rows}
    assert all(set(row) == {"check", "state", "found", "fix"} for row in rows)


def test_a_second_beat_is_noticed(shell: Shell, redis_url: str) -> None:
    """With one beat the line is missing; with two it names both. No worker need have run a task at first."""
    sign_fleet(redis_url)
    with Redis.from_url(redis_url) as redis:
        redis.delete(tasks_key(STREAM))
    sign_beat(redis_url, STREAM)
    alone = states(shell.run("doctor", "--offline"))
    with Redis.from_url(redis_url) as redis:
        redis.expire(tasks_key(STREAM), 60_000)
    sign_beat(redis_url, STREAM)
    both = {row["check"]: row for row in shell.run("doctor", "--offline").rows}

    assert (alone["beat"], "beats" in alone) == ("ok", False)
    assert both["beat"]["state"] == "fail"  # a beat that restarts hides no tasks that never run
    assert both["beats"]["state"] == "warn"
    assert both["beats"]["found"].count(":") == 4


def test_a_fleet_that_never_had_a_beat_has_no_age_of_it(shell: Shell, redis_url: str) -> None:
    """The line says that there is none, and how to start it."""
    sign_fleet(redis_url)
    with Redis.from_url(redis_url) as redis:
        redis.delete(beat_key(STREAM))
    found = {row["check"]: row for row in shell.run("doctor", "--offline").rows}["beat"]

    assert found["state"] == "fail"
    assert found["found"] == "none: no beat has sent a task in the last day"


@pytest.mark.parametrize("stream", [STREAM, "hushgate:replies"])
def test_a_stream_without_further_ids_is_named(shell: Shell, redis_url: str, stream: str) -> None:
    """A client added the largest id: publishers, or our relay, get an error for ever."""
    sign_fleet(redis_url)
    with Redis.from_url(redis_url) as redis:
        redis.xadd(stream, {"data": b"{}"}, id=f"{2**64 - 1}-{2**64 - 2}")
        before = line_of(shell.run("doctor", "--offline"), "stream ids")
        redis.xadd(stream, {"data": b"{}"}, id=f"{2**64 - 1}-{2**64 - 1}")
    after = line_of(shell.run("doctor", "--offline"), "stream ids")

    assert (before["state"], after["state"]) == ("ok", "fail")
    assert after["found"].startswith(f"{stream}: ")


def test_an_account_without_documents_or_disclosure_is_named(shell: Shell, url: str) -> None:
    """A new account of a person says so; an account with the AI on and no text does not."""
    (none,) = (row for row in shell.run("doctor", "--offline").rows if row["check"] == "accounts")
    hidden = replace(new_account("hidden"), disclosure_texts={})
    in_pool(url, lambda pool: accounts.store_account(pool, new_account("open"), changed_by="test"), role=None)
    in_pool(url, lambda pool: accounts.store_account(pool, hidden, changed_by="test"), role=None)

    seed_document(url, "open", "Hours", ["We are open from nine to six."])
    found = {row["check"]: row for row in shell.run("doctor", "--offline").rows}

    assert none["state"] == "warn"
    assert found["accounts"]["state"] == "ok"
    assert found["documents"]["found"] == "1 accounts with the AI on have none: hidden"
    assert found["AI disclosure"]["found"] == "1 accounts with the AI on do not say so: hidden"


def test_a_budget_that_no_price_counts_for_is_named(shell: Shell, url: str) -> None:
    """It would never be spent; an account without a budget is not named."""
    limited = replace(new_account("limited"), budget_month_usd=10.0)
    for account in (limited, new_account("free")):
        in_pool(url, partial(accounts.store_account, account=account, changed_by="test"), role=None)
    before = states(shell.run("doctor", "--offline"))
    with psycopg.connect(url) as connection:
        connection.execute(UNPRICED)
    found = line_of(shell.run("doctor", "--offline"), "budget prices")

    assert "budget prices" not in before
    assert found["state"] == "warn"
    assert found["found"] == "accounts with a budget used models without a price this month: limited"
    assert "HUSHGATE_PRICES" in found["fix"]


def test_a_fleet_without_a_model_is_a_failure_with_its_fix(shell: Shell, url: str) -> None:
    """Until an administrator connects a server; the key of another server does not open."""
    key, other = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
    bare = dict.fromkeys(("OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_BASE_URL"))
    env = {**bare, "HUSHGATE_SECRETS_KEY": key}
    before = line_of(shell.run("doctor", "--offline", env=env), "models")
    server = StoredServer(role=ModelRole.MODEL, url="http://h/v1", key=SecretStr("sk-x"), model="m")

    async def connect(source: Pool) -> None:
        async with source.connection() as connection:
            await store_servers(connection, [server], SecretStr(key), changed_by="admin")

    in_pool(url, connect, role=None)
    after = line_of(shell.run("doctor", "--offline", env=env), "models")
    unread = line_of(shell.run("doctor", "--offline", env={**env, "HUSHGATE_SECRETS_KEY": other}), "models")

    assert before["state"] == "fail"
    assert "page Connect" in before["fix"]
    assert after["state"] == "ok"
    assert after["found"].startswith("m of http://h/v1; servers of the page Connect")
    assert unread["state"] == "fail"
    assert "HUSHGATE_SECRETS_KEY" in unread["fix"]
