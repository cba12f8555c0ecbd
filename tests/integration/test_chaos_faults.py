"""What counts as evidence that a fault of a chaos run happened, and what excuses a webhook."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from types import SimpleNamespace
from typing import cast

import orjson
import psycopg
import pytest

from chaos.faults.servers import shifted
from chaos.faults.upstream import MOST, hits
from chaos.fleet.review_client import AskedJob, ReviewClient
from chaos.fleet.world import STREAM, World
from chaos.kinds import Law
from chaos.laws.observations import JobKind, Observations
from chaos.laws.oracle import breaches
from chaos.observing.collect import CANCELLED_WEBHOOKS, LATER_WEBHOOKS
from chaos.observing.prompt_watch import PromptWatch
from chaos.plan import Plan
from cli.stack import Stack
from sandbox.server import start as start_sandbox
from tasks.limits.upstream_reports import UpstreamReporter
from tasks.shards.clients import connect


class Database(World):
    """A database without processes."""

    def __init__(self, database_url: str, redis_url: str = "") -> None:
        """Take servers that run."""
        self.plan = Plan(events=1, workers=1, seed=1, counts={})
        self.stack = cast("Stack", SimpleNamespace(database_url=database_url, redis_url=redis_url))


@pytest.mark.parametrize("offset_s", [-600, -60, 60, 600])
async def test_a_clock_jump_is_seen_in_the_report_of_a_worker(redis_url: str, offset_s: int) -> None:
    """A report of a right clock, or of another jump, is none."""
    world = Database("", redis_url)
    clocks = iter((0.0, -float(offset_s), float(offset_s)))
    async with connect(redis_url) as redis:
        reporter = UpstreamReporter(
            redis=redis, stream=STREAM, worker="a", guards=(), ahead_s=lambda: next(clocks)
        )
        seen = []
        for _ in range(3):
            await reporter.report()
            seen.append(await asyncio.to_thread(shifted, world, offset_s))

    assert seen == [False, False, True]


ENDPOINT = """
    INSERT INTO webhook_endpoints (id, user_id, url, types, secret, secret_hint, created_by, created_at)
    VALUES (gen_random_uuid(), '*', 'http://127.0.0.1:1/', ARRAY['reply.created'], 's', 's', 'x', now())
    RETURNING id
"""
REPLY = """
    INSERT INTO outgoing_events (user_id, conversation_id, type, key, body, created_at)
    VALUES ('shop', %(conversation)s, 'reply.created', %(name)s,
        jsonb_build_object('event_id', %(name)s::text), now())
    RETURNING id
"""
DELIVERY = """
    INSERT INTO webhook_deliveries (endpoint_id, event_row, user_id, conversation_id, state, next_attempt_at,
        cancel_reason, ended_at, created_at)
    VALUES (%(endpoint)s, %(event)s, 'shop', %(conversation)s, %(state)s,
        now() + make_interval(secs => %(in_s)s), %(reason)s,
        CASE WHEN %(state)s <> 'waiting' THEN now() END, now())
"""


def test_only_webhooks_with_a_later_attempt_or_a_known_cause_are_excused(database_url: str) -> None:
    """One without a delivery, a failed one and one that is due are not; nor are those behind the due one."""
    rows: tuple[tuple[str, str, str, float | None, str | None], ...] = (
        ("later", "a", "waiting", 300.0, None),
        ("behind it", "a", "waiting", None, None),
        ("due", "b", "waiting", -5.0, None),
        ("behind the due one", "b", "waiting", None, None),
        ("failed", "c", "failed", None, None),
        ("cancelled", "d", "cancelled", None, "too_late"),
    )
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("TRUNCATE outgoing_events, webhook_endpoints CASCADE")
        ((endpoint,),) = connection.execute(ENDPOINT).fetchall()
        connection.execute(REPLY, {"name": "no delivery", "conversation": "e"})
        for name, conversation, state, in_s, reason in rows:
            reply = {"name": name, "conversation": conversation}
            ((event,),) = connection.execute(REPLY, reply).fetchall()
            values = {"endpoint": endpoint, "event": event, "state": state, "in_s": in_s, "reason": reason}
            connection.execute(DELIVERY, reply | values)
    world = Database(database_url)

    assert {row[0] for row in world.rows(LATER_WEBHOOKS)} == {"later", "behind it"}
    assert dict(world.rows(CANCELLED_WEBHOOKS)) == {"cancelled": "too_late"}


JOB = """
    INSERT INTO jobs (id, person_id, kind, params, state)
    SELECT gen_random_uuid(), id, 'bulk_review', jsonb_build_object('note', %s::text), 'done'
    FROM people WHERE login = 'chaos'
"""


def test_a_job_that_is_stored_twice_is_a_breach(database_url: str) -> None:
    """Also where each of the two processed all of its list."""
    review_client, found = ReviewClient(Database(database_url)), []
    review_client.asked.append(AskedJob(kind=JobKind.BULK_REVIEW, mark="note 1", expected=frozenset()))
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("INSERT INTO people (id, login) VALUES (gen_random_uuid(), 'chaos')")
        for note in ("note 1", "note 2", "note 1"):
            connection.execute(JOB, (note,))
            found.append(breaches(Observations(jobs=review_client.seen()))[Law.JOBS])

    assert found == [(), (), ("note 1 ended as 2 jobs",)]


def test_a_storm_counts_only_the_calls_that_its_own_rules_failed() -> None:
    """A call that fails for another reason is no evidence."""
    with start_sandbox() as sandbox:
        own = sandbox.add_rule("moderations", "500", times=MOST)
        other = sandbox.add_rule("chat", "500", times=MOST)
        before = hits(sandbox.rules(), [own, other])
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError):
                _post(f"{sandbox.url}/v1/moderations", {"model": "m", "input": "hello"})

        assert before == 0
        assert hits(sandbox.rules(), [own, other]) == 2
        assert hits(sandbox.rules(), [other]) == 0


def test_requests_that_left_the_ring_unread_are_missed() -> None:
    """The ring may be full of bytes before it is full of requests: what counts is the oldest stored one."""
    prompt = {"model": "m", "messages": [{"role": "user", "content": "zqf7q"}]}
    with start_sandbox(options=("--keep-requests", "3")) as sandbox:
        watch = PromptWatch(cast("World", SimpleNamespace(sandbox=sandbox)))
        watch.stop()
        found = []
        for count in (3, 5, 0):
            for _ in range(count):
                _post(f"{sandbox.url}/v1/chat/completions", prompt)
            watch.look()
            found.append((watch.looked_at, watch.missed))

    assert found == [(3, 0), (6, 2), (6, 2)]


def _post(url: str, body: object) -> None:
    request = urllib.request.Request(
        url, orjson.dumps(body), {"Content-Type": "application/json", "Authorization": "Bearer k"}
    )
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10).close()
