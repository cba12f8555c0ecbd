"""Sample data: added and removed with one button each; nothing of it leaves, and nothing of it stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from redis import Redis
from uuid_utils.compat import uuid7

from db.figures import hourly
from db.people.records import Role
from db.people.sample_data import SAMPLE_ACCOUNT
from review.first_run.samples import MESSAGES
from sandbox.server import SandboxHandle
from tests.integration.test_first_run_pages import services
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in, site, site_with, stored
from tests.support.running import Running, eventually, running

ADD, REMOVE, PAGE = "/first-steps/samples", "/first-steps/samples/remove", "/first-steps/samples"
KEPT = {"access_log", "erasures"}
TABLES = """
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND a.attname = 'user_id' AND NOT a.attisdropped
"""


@pytest.fixture
def visitors(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Visitors]:
    """Visitors of a site that can publish."""
    with site_with(services(database_url, redis_url, sandbox), database_url) as running_site:
        yield running_site


def admin_of(visitors: Visitors, url: str) -> Visitor:
    """An administrator and lead of every account."""
    return signed_in(visitors, add_person(url, Role.ACCOUNT_ADMIN, Role.LEAD))


def rows_of(url: str, account: str) -> dict[str, int]:
    """Rows of an account by table, without tables that have none."""
    with psycopg.connect(url) as connection:
        names = [name for (name,) in connection.execute(TABLES)]
        counts = {
            name: connection.execute(f"SELECT count(*) FROM {name} WHERE user_id = %s", (account,)).fetchone()
            for name in names
        }
    return {name: found[0] for name, found in counts.items() if found and found[0]}


def count_figures(url: str, later: timedelta) -> None:
    """Count the hours as the review server does, at a later time: it counts old hours again."""
    now = datetime.now(UTC) + later
    while stored(url, lambda connection: hourly.fill_next(connection, now=now)) is not None:
        pass


def figures(url: str) -> int:
    """Counted decisions of all accounts."""
    query = "SELECT coalesce(sum(events), 0)::int FROM figure_counts WHERE user_id = '' AND grain = 'hour'"
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


def all_decided(engine: Running) -> bool:
    """Whether every sample is decided, and its queue has all of them."""
    query = (
        "SELECT count(*) AS found FROM queue_items i JOIN queues q ON q.id = queue_id WHERE created_by = %s"
    )
    row = engine.row(query, SAMPLE_ACCOUNT)
    return row is not None and row["found"] == len(MESSAGES)


def stays_in(engine: Running) -> None:
    """Replies count as sent, also after what a restored backup does, and no stream has any of them."""
    waiting = "SELECT count(*) AS found FROM outbox WHERE delivered_at IS NULL"
    sent = engine.row("SELECT count(*) AS found FROM outbox WHERE user_id = %s", SAMPLE_ACCOUNT)
    engine.database.execute("UPDATE outbox SET delivered_at = NULL WHERE user_id = %s", (SAMPLE_ACCOUNT,))
    engine.database.execute(
        "UPDATE outgoing_events SET streamed_at = NULL WHERE user_id = %s", (SAMPLE_ACCOUNT,)
    )
    events = engine.row(
        "SELECT count(*) AS found FROM outgoing_events WHERE streamed_at IS NULL OR fanned_out_at IS NULL"
        " OR (user_id = %s AND withdrawn IS NULL)",
        SAMPLE_ACCOUNT,
    )

    assert sent is not None
    assert sent["found"] > 2
    assert engine.row(waiting) == {"found": 0}
    assert events == {"found": 0}
    for stream in ("hushgate:replies", "hushgate:escalations", "hushgate:retractions"):
        entries: Any = engine.redis.xrange(stream)
        assert [fields for _, fields in entries if SAMPLE_ACCOUNT.encode() in fields[b"data"]] == []


def test_samples_are_decided_never_sent_and_removed_without_a_trace(
    visitors: Visitors, database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """With a running worker: every table, the figures and the queue are as before; conservation holds."""
    admin = admin_of(visitors, database_url)
    with running(database_url, redis_url, sandbox) as engine:
        engine.decide(engine.account(), "Hello!")
        count_figures(database_url, timedelta(minutes=71))
        before = figures(database_url)
        offered = admin.get("/").text
        added = admin.post(ADD)
        eventually(lambda: all_decided(engine), "the samples in their queue")
        count_figures(database_url, timedelta(hours=3))
        during, page, home = figures(database_url), admin.get(PAGE).text, admin.get("/").text
        stays_in(engine)
        removed = admin.post(REMOVE)
    count_figures(database_url, timedelta(hours=3))
    gone = admin.get(removed.headers["location"]).text

    assert "Add sample data" in offered
    assert (added.status_code, removed.status_code) == (303, 303)
    assert f"All {len(MESSAGES)} messages are decided" in page
    assert "Remove the sample data" in home
    assert during == before + len(MESSAGES)
    assert "The sample data is removed" in gone
    assert "no decision yet" not in gone
    assert set(rows_of(database_url, SAMPLE_ACCOUNT)) <= KEPT
    assert figures(database_url) == before
    with psycopg.connect(database_url) as connection:
        purged: dict[str, int] = dict(connection.execute("SELECT table_name, rows FROM purged").fetchall())
        queues = connection.execute(
            "SELECT count(*) FROM queues WHERE created_by = %s", (SAMPLE_ACCOUNT,)
        ).fetchone()
    assert purged["ai_decisions"] == purged["event_keys"] == len(MESSAGES)
    assert queues == (0,)


def test_without_a_worker_the_page_says_so_and_late_decisions_are_deleted(
    visitors: Visitors, database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Messages that are still in the stream at the removal leave nothing behind once they are decided."""
    admin = admin_of(visitors, database_url)
    admin.get(PAGE)
    admin.post(ADD)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET hushgate.erasing = on")
        connection.execute("UPDATE ai_rules SET changed_at = changed_at - interval '1 minute'")
    waiting = admin.get(PAGE).text
    gone = admin.get(admin.post(REMOVE).headers["location"]).text
    left = rows_of(database_url, SAMPLE_ACCOUNT)
    with running(database_url, redis_url, sandbox) as engine, Redis.from_url(redis_url) as redis:
        eventually(lambda: redis.xlen("hushgate:events") == 0, "an empty stream")
        eventually(lambda: set(rows_of(database_url, SAMPLE_ACCOUNT)) <= KEPT, "no row of the samples")
        paid = engine.row("SELECT count(*) AS found FROM account_costs WHERE user_id = %s", SAMPLE_ACCOUNT)

    assert "probably no worker runs" in waiting
    assert f"{len(MESSAGES)} messages had no decision yet" in gone
    assert set(left) <= KEPT
    assert paid == {"found": 0}


def test_only_administrators_of_every_account_use_samples(visitors: Visitors, database_url: str) -> None:
    """An administrator of one account and a lead are refused and see no button."""
    for role, account in ((Role.ACCOUNT_ADMIN, "shop"), (Role.LEAD, "*"), (Role.OWNER, SAMPLE_ACCOUNT)):
        visitor = signed_in(visitors, add_person(database_url, role, account=account))

        assert "sample data" not in visitor.get("/", follow=True).text
        assert [visitor.get(PAGE).status_code, visitor.post(ADD).status_code] == [403, 403], role
        assert visitor.post(REMOVE).status_code == 403


def test_a_legal_hold_keeps_the_samples(visitors: Visitors, database_url: str) -> None:
    """The removal is refused as a whole."""
    admin = admin_of(visitors, database_url)
    admin.get(PAGE)
    admin.post(ADD)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO legal_holds (id, user_id, kind, subject, reason, placed_by)"
            " VALUES (%s, %s, 'author', 'sample-anna', 'case', 'test')",
            (uuid7(), SAMPLE_ACCOUNT),
        )

    held, left = admin.post(REMOVE).status_code, rows_of(database_url, SAMPLE_ACCOUNT)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE legal_holds SET released_at = now(), released_by = 'test'")

    assert held == 409
    assert "documents" in left
    assert admin.post(REMOVE).status_code == 303
    assert set(rows_of(database_url, SAMPLE_ACCOUNT)) <= KEPT


def test_samples_with_a_rollout_can_be_removed(visitors: Visitors, database_url: str) -> None:
    """A newcomer who tries a candidate on the samples loses both with the samples."""
    admin = admin_of(visitors, database_url)
    admin.get(PAGE)
    admin.post(ADD)
    candidate = uuid7()
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO candidates (id, user_id, base_version, changes, source, created_by)"
            """ VALUES (%s, %s, 1, '{"flagged_keywords": ["lamp"]}', 'person', 'test')""",
            (candidate, SAMPLE_ACCOUNT),
        )
        connection.execute(
            "WITH made AS (INSERT INTO trials (id, user_id, kind, candidate_id, base_version, changes, share)"
            " VALUES (%s, %s, 'rollout', %s, 1, '{}', 0.5) RETURNING id)"
            " INSERT INTO trial_steps (trial_id, kind, share, made_by, reason)"
            " SELECT id, 'start', 0.5, 'test', 'a try' FROM made",
            (uuid7(), SAMPLE_ACCOUNT, candidate),
        )

    assert admin.post(REMOVE).status_code == 303
    assert set(rows_of(database_url, SAMPLE_ACCOUNT)) <= KEPT


def test_other_accounts_stay_when_samples_go(
    visitors: Visitors, database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Removing without samples, or twice, changes nothing."""
    admin = admin_of(visitors, database_url)
    with running(database_url, redis_url, sandbox) as engine:
        account = engine.account()
        engine.decide(account, "Hello!")
    before = rows_of(database_url, account)
    admin.get(PAGE)
    answers = [admin.post(REMOVE).status_code for _ in range(2)]

    assert answers == [303, 303]
    assert rows_of(database_url, account) == before


def test_a_search_without_a_match_offers_no_samples(visitors: Visitors, database_url: str) -> None:
    """Only an empty list without filters may mean that nothing is decided yet."""
    admin = admin_of(visitors, database_url)
    empty = "/decisions?since=2001-01-01&until=2001-01-02"

    assert "Add sample data" in admin.get(empty).text
    assert "Add sample data" not in admin.get(f"{empty}&text=lamp").text


def test_a_server_without_redis_offers_no_samples(database_url: str) -> None:
    """The page says which setting is missing."""
    with site(database_url) as visitors:
        admin = admin_of(visitors, database_url)

        assert "REDIS_URL" in admin.get(PAGE).text
        assert admin.post(ADD).status_code == 409
        assert "Add sample data" not in admin.get("/decisions").text
