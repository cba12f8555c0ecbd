"""Retention: every table and stream is declared, sweeps go in steps, and holds come first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
import pytest
from psycopg.rows import dict_row

from db.audit.decision_list import read_connection
from db.health import conservation
from db.identifiers import uuid_at
from db.pool import Pool, create_pool
from db.retention.declared import RETENTION, STREAM_RETENTION
from db.retention.kept import KeptBy
from db.retention.steps import rows_due, sweep_step
from db.schema.partitions import ensure_partitions
from tasks.retention.sweep import SweepPace, sweep
from tasks.sending.entry_types import ENTRY_TYPES
from tests.support.retention import SWEPT, keeping
from worker.settings.retention import Kept

Rows = psycopg.Connection[dict[str, Any]]
NOW: Final = datetime.now(UTC)
OLD: Final = NOW - timedelta(days=400)
SHORTEST: Final = {
    "keys_days": 1,
    "dead_letters_days": 1,
    "decisions_months": 1,
    "messages_days": 1,
    "access_log_days": 28,
    "jobs_days": 1,
    "appeals_days": 184,
    "recordings_days": 1,
}
DECISION: Final = """
    INSERT INTO ai_decisions (created_at, id, user_id, event_id, message_id, conversation_id, author_id,
        scope, decision, confidence, reason_code, reason, message_text, snapshot_json, degraded)
    VALUES (%(at)s, %(id)s, 'shop', %(id)s::text, 'm', %(conversation)s, %(author)s, 'chat', 'ignore', 0,
        'X', '', '', '{}', false)
"""
OF_DECISION: Final = {
    "event_keys": "(user_id, event_id, entry_id, decision_id, created_at)"
    " VALUES ('shop', %(id)s::text, '1-0', %(id)s, %(at)s)",
    "duplicates": "(entry_id, user_id, event_id, created_at)"
    " VALUES (%(id)s::text, 'shop', %(id)s::text, %(at)s)",
    "messages": "(user_id, conversation_id, message_id, decision_id, role, text, created_at)"
    " VALUES ('shop', %(conversation)s, 'm', %(id)s, 'user', 'x', %(at)s)",
    "quarantine": "(user_id, conversation_id, message_id, decision_id, role, text, place, created_at,"
    " expires_at) VALUES ('shop', %(conversation)s, 'm', %(id)s, 'user', 'x', 1, %(at)s, %(at)s)",
    "held_drafts": "(user_id, conversation_id, message_id, decision_id, reason_code, kind, text, created_at,"
    " expires_at) VALUES ('shop', %(conversation)s, 'm', %(id)s, 'X', 'draft', 'x', %(at)s, %(at)s)",
    "recordings": "(decision_id, user_id, conversation_id, author_id, created_at, data)"
    " VALUES (%(id)s, 'shop', %(conversation)s, %(author)s, %(at)s, 'x')",
    "shadow_results": "(id, shadow_id, decision_id, candidate_id, user_id, conversation_id, author_id,"
    " decision_at, kind, before_code, decision, reason_code, reason, reply, created_at)"
    " VALUES (%(id)s, %(id)s, %(id)s, %(id)s, 'shop', %(conversation)s, %(author)s, %(at)s,"
    " 'newly_stopped', 'X', 'ignore', 'X', '', 'x', %(at)s)",
    "outbox": "(user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,"
    " delivered_at) VALUES ('shop', %(id)s::text, %(id)s, %(conversation)s, 'm', 'chat', 'x',"
    " %(at)s, %(at)s)",
    "outgoing_events": "(user_id, conversation_id, type, key, body, created_at, streamed_at) VALUES ('shop',"
    " %(conversation)s, 'reply.created', %(id)s::text, jsonb_build_object('decision_id',"
    " %(id)s::text), %(at)s,"
    " %(at)s)",
    "appeals": "(id, decision_id, decision_at, user_id, event_id, conversation_id, message_id, author_id,"
    " scope, source, text, entered_by, created_at, due_at, outcome, statement, decided_by, decided_at,"
    " effect)"
    " VALUES (%(id)s, %(id)s, %(at)s, 'shop', %(id)s::text, %(conversation)s, 'm', %(author)s, 'chat', 'api',"
    " 'x', 'kim', %(at)s, %(at)s, 'upheld', 'x', 'kim', %(at)s, 'none')",
    "escalations": "(decision_id, user_id, event_id, conversation_id, message_id, author_id, scope,"
    " reason_code,"
    " queue, opened_at, closed_at, closed_by, cause) VALUES (%(id)s, 'shop', 'e', %(conversation)s, 'm',"
    " %(author)s, 'chat', 'X', '', %(at)s, %(at)s, '', 'idle')",
    "answers": "(id, decision_id, decision_at, user_id, conversation_id, message_id, scope, outcome, text,"
    " person, released,"
    " rules_version, created_at) VALUES (gen_random_uuid(), %(id)s, %(at)s, 'shop', %(conversation)s, 'm',"
    " 'chat', 'written', 'x', 'kim', false, 1, %(at)s)",
    "retractions": "(decision_id, review_id, user_id, event_id, conversation_id, message_id, scope,"
    " created_at,"
    " not_before, delivered_at) VALUES (%(id)s, gen_random_uuid(), 'shop', 'e', %(conversation)s,"
    " 'm', 'chat',"
    " %(at)s, %(at)s, %(at)s)",
    "decision_reviews": "(id, decision_id, decision_at, user_id, person, ruling, source)"
    " VALUES (gen_random_uuid(), %(id)s, %(at)s, 'shop', 'kim', 'agree', 'page')",
    "review_states": "(decision_id, decision_at, user_id, state, reviews, last_review)"
    " VALUES (%(id)s, %(at)s, 'shop', 'agree', 1, gen_random_uuid())",
    "queue_items": "(queue_id, decision_id, decision_at, user_id)"
    " SELECT id, %(id)s, %(at)s, 'shop' FROM queues LIMIT 1",
    "golden_items": "(decision_id, decision_at, user_id, ruling, created_by)"
    " VALUES (%(id)s, %(at)s, 'shop', 'agree', 'kim')",
    "golden_set_items": "(id, set_id, user_id, row_id, source, decision_id, conversation_id, author_id,"
    " expected, labelled_by, content, recorded_at)"
    " SELECT gen_random_uuid(), id, 'shop', %(id)s, 'decision', %(id)s, %(conversation)s,"
    " %(author)s, 'silent', 'kim', '{}', %(at)s FROM golden_sets LIMIT 1",
    "decision_comments": "(id, decision_id, decision_at, user_id, person_id, person, text)"
    " SELECT gen_random_uuid(), %(id)s, %(at)s, 'shop', id, 'kim', 'x' FROM people LIMIT 1",
    "decision_assignments": "(decision_id, decision_at, user_id, change, assigned_by)"
    " VALUES (%(id)s, %(at)s, 'shop', gen_random_uuid(), 'kim')",
    "access_log": "(at, action, user_id, decision_id) VALUES (%(at)s, 'read', 'shop', %(id)s)",
}
"""A row of each table that belongs to a decision."""
OF_CONVERSATION: Final = {
    "subject_notes": "(id, user_id, kind, subject, text, person, created_at)"
    " VALUES (gen_random_uuid(), 'shop', 'conversation', %(conversation)s, 'x', 'kim', %(at)s)",
    "subject_tags": "(user_id, kind, subject, tag, added_by, added_at)"
    " VALUES ('shop', 'conversation', %(conversation)s, 'vip', 'kim', %(at)s)",
    "conversations": "(user_id, conversation_id, people_until, changed_at, changed_by, cause, changes)"
    " VALUES ('shop', %(conversation)s, %(at)s, %(at)s, 'kim', 'command', 1)",
    "dead_letters": "(entry_id, created_at, reason_code, field, expected, got, size_bytes, raw) VALUES"
    " (%(id)s::text, %(at)s, 'invalid', 'text', 'a text', 'none', 9, convert_to(format("
    """'{{"user_id":"shop","conversation_id":"%%s","author_id":"%%s"}}',"""
    " %(conversation)s::text, %(author)s::text), 'UTF8'))",
}
ALONE: Final = {
    "jobs": "(id, person_id, kind, params, state, finished_at) SELECT gen_random_uuid(), id, 'bulk_review',"
    " '{}', 'done', %(at)s FROM people LIMIT 1",
    "legal_holds": "(id, user_id, kind, subject, reason, placed_by, placed_at, released_at, released_by)"
    " VALUES (gen_random_uuid(), 'other', 'author', 'x', 'a case', 'kim', %(at)s, %(at)s, 'kim')",
}
REFUSE: Final = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''refused''; END';
    CREATE TRIGGER refuse BEFORE DELETE ON event_keys EXECUTE FUNCTION refuse()
"""


@pytest.fixture(scope="module")
def owner(database_url: str) -> Iterator[Rows]:
    """A connection with every right, to a database with a person and a queue."""
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("INSERT INTO people (id, login) VALUES (gen_random_uuid(), 'kim')")
        connection.execute(
            "INSERT INTO golden_sets (id, user_id, name, created_by)"
            " VALUES (gen_random_uuid(), 'shop', 'x', 'kim')"
        )
        connection.execute("INSERT INTO queues (id, name, kind) VALUES (gen_random_uuid(), 'q', 'hand')")
        yield connection


@pytest.fixture
async def source(database_url: str) -> Any:
    """Connections of the worker's role."""
    async with create_pool(database_url, size=2, application="test") as opened:
        yield opened


async def put(source: Pool, owner: Rows, at: datetime, *, conversation: str, author: str) -> dict[str, Any]:
    """A decision with a row in every table that has rows of decisions; its ids."""
    await ensure_partitions(source, at.date())
    values = {"id": uuid_at(at), "at": at, "conversation": conversation, "author": author}
    owner.execute(DECISION, values)
    for table, insert in (OF_DECISION | OF_CONVERSATION).items():
        owner.execute(f"INSERT INTO {table} {insert}".encode(), values)
    return values


def rows(owner: Rows) -> dict[str, int]:
    """The number of rows of each swept table; empty tables left out."""
    found = {}
    for table in SWEPT:
        (row,) = owner.execute(f"SELECT count(*) AS rows FROM {table}".encode()).fetchall()
        found[table] = row["rows"]
    return {table: number for table, number in found.items() if number}


def test_every_table_and_stream_is_declared(owner: Rows) -> None:
    """A new table needs a line that says how long it is kept, or why for ever."""
    query = (
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
        " AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    )
    stored = sorted(row["relname"] for row in owner.execute(query))
    streams = {"stream", *(each.setting for each in ENTRY_TYPES)}

    assert sorted(each.table for each in RETENTION) == stored
    assert {each.name for each in STREAM_RETENTION} == streams
    assert all(each.why for each in RETENTION if each.kept_by in {KeptBy.FOR_EVER, KeptBy.OTHER, KeptBy.ROW})
    assert all(each.setting in Kept.model_fields for each in RETENTION if each.setting)


@pytest.mark.parametrize("kind", ["decision", "conversation", "author"])
async def test_a_sweep_deletes_old_rows_of_every_table_but_held_ones(
    source: Pool, owner: Rows, database_url: str, kind: str
) -> None:
    """Every swept table loses its old row and keeps the held one, until the hold is released."""
    free = await put(source, owner, OLD, conversation=f"free {kind}", author=f"free {kind}")
    held = await put(source, owner, OLD, conversation=f"held {kind}", author=f"held {kind}")
    for table, insert in ALONE.items():
        owner.execute(f"INSERT INTO {table} {insert}".encode(), free)
    subject = {"decision": str(held["id"]), "conversation": f"held {kind}", "author": f"held {kind}"}[kind]
    owner.execute(
        "INSERT INTO legal_holds (id, user_id, kind, subject, reason, placed_by)"
        " VALUES (gen_random_uuid(), 'shop', %s, %s, 'a case', 'kim')", (kind, subject)
    )  # fmt: skip
    pace = SweepPace(rows=1, pause=lambda _: asyncio.sleep(0))
    await sweep(source, keeping(**SHORTEST), NOW, pace=pace)
    kept = rows(owner)
    owner.execute("UPDATE legal_holds SET released_at = %s, released_by = 'kim'", (OLD,))
    await sweep(source, keeping(**SHORTEST), NOW)
    async with read_connection(database_url) as connection:
        balance = await conservation.load_balance(connection, accepted=0, unfinished=0)
    tables = OF_DECISION.keys() | {"ai_decisions", "legal_holds"}
    if kind == "conversation":
        tables |= OF_CONVERSATION.keys()
    if kind == "author":
        tables |= {"dead_letters"}

    assert kept == dict.fromkeys(tables, 1)
    assert rows(owner) == {}
    assert balance.audited + balance.purged_audit == balance.decided + balance.purged_keys


async def test_young_rows_stay(source: Pool, owner: Rows) -> None:
    """The shortest settings delete nothing of today but what has expired by its own time."""
    await put(source, owner, NOW - timedelta(hours=1), conversation="young", author="young")
    end = NOW + timedelta(days=30)
    owner.execute("UPDATE held_drafts SET expires_at = %s", (end,))
    owner.execute("UPDATE conversations SET people_until = %s", (end,))
    oldest = [(await rows_due(source, table, OLD)).oldest for table in ("held_drafts", "conversations")]
    before = rows(owner)
    await sweep(source, keeping(**SHORTEST), NOW)
    after = rows(owner)
    with owner.transaction():
        owner.execute("SET LOCAL hushgate.erasing = on")
        for table in SWEPT:
            owner.execute(f"DELETE FROM {table}".encode())
    owner.execute("DELETE FROM purged")

    assert oldest == [NOW - timedelta(hours=1)] * 2
    expired = {"quarantine"}
    assert after == {table: number for table, number in before.items() if table not in expired}


async def test_a_step_deletes_no_more_rows_than_asked_for_and_the_next_one_goes_on(
    source: Pool, owner: Rows
) -> None:
    """Rows of equal times too: ten rows in steps of three."""
    for _ in range(10):
        values = {"id": uuid_at(OLD), "at": OLD}
        owner.execute(f"INSERT INTO event_keys {OF_DECISION['event_keys']}".encode(), values)
    before, deleted = NOW - timedelta(days=1), []
    due = await rows_due(source, "event_keys", before)
    after, finished = None, False
    while not finished:
        step = await sweep_step(source, "event_keys", before, after, 3)
        deleted.append(step.deleted)
        after, finished = step.last, step.finished

    assert due.due == 10
    assert deleted == [3, 3, 3, 1]


async def test_a_table_whose_rows_cannot_be_deleted_stops_no_other(source: Pool, owner: Rows) -> None:
    """Its error is raised after the others; such as one of a trigger of the operator."""
    values = {"id": uuid_at(OLD), "at": OLD}
    for table in ("event_keys", "duplicates"):
        owner.execute(f"INSERT INTO {table} {OF_DECISION[table]}".encode(), values)
    owner.execute(REFUSE)
    try:
        with pytest.raises(psycopg.errors.RaiseException):
            await sweep(source, keeping(**SHORTEST), NOW, only=("event_keys", "duplicates"))
    finally:
        owner.execute("DROP FUNCTION refuse CASCADE")
    left = await sweep(source, keeping(**SHORTEST), NOW, only=("event_keys", "duplicates"))

    assert left == {"event_keys": 1, "duplicates": 0}


async def test_a_locked_row_ends_its_table_and_no_other(source: Pool, owner: Rows, database_url: str) -> None:
    """A transaction of a person is never waited for longer than a second."""
    values = {"id": uuid_at(OLD), "at": OLD}
    for table in ("event_keys", "duplicates"):
        owner.execute(f"INSERT INTO {table} {OF_DECISION[table]}".encode(), values)
    with psycopg.connect(database_url) as other:
        other.execute("SELECT 1 FROM event_keys FOR UPDATE")
        first = await sweep(source, keeping(**SHORTEST), NOW, only=("event_keys", "duplicates"))
    second = await sweep(source, keeping(**SHORTEST), NOW, only=("event_keys", "duplicates"))

    assert first == {"event_keys": 0, "duplicates": 1}
    assert second == {"event_keys": 1, "duplicates": 0}
