"""What an erasure removes from the access log, saved views and exports, and what it leaves to others."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb
from uuid_utils.compat import uuid7

from compliance.erasure.records import ErasureKind
from compliance.tables import ErasurePhase
from db.people.records import Person, Role
from tests.support import erasing
from tests.support.auditing import decided, store
from tests.support.reviewing import add_person

Rows = psycopg.Connection[dict[str, Any]]
RELAYS = "SELECT pg_advisory_xact_lock(hashtextextended('hushgate outbox', 0))"
MESSAGE = "Please send the refund to jo@example.org today."


def erase(url: str, redis_url: str, author: str, text: str = MESSAGE, account: str = "shop") -> None:
    """Erase an author who wrote one message."""
    store(url, [decided(user_id=account, author_id=author, conversation_id=f"of {author}", text=text)])
    found = asyncio.run(erasing.erase(url, redis_url, account, ErasureKind.AUTHOR, author))
    assert (found.phase, found.erased["ai_decisions"]) == ("finished", 1)


def line(owner: Rows, action: str, account: str | None, person: Person | None = None, **detail: Any) -> int:
    """A line of the access log."""
    row = owner.execute(
        "INSERT INTO access_log (action, person_id, user_id, detail) VALUES (%s, %s, %s, %s) RETURNING id",
        (action, None if person is None else person.person_id, account, Jsonb(detail)),
    ).fetchone()
    assert row is not None
    return int(row["id"])


def view(owner: Rows, person: Person, **filters: str) -> UUID:
    """A saved view."""
    view_id = uuid7()
    owner.execute(
        "INSERT INTO saved_views (id, person_id, name, query) VALUES (%s, %s, %s, %s)",
        (view_id, person.person_id, str(view_id), urlencode(filters)),
    )
    return view_id


def export(owner: Rows, person: Person, **filters: str) -> UUID:
    """A finished export with one part."""
    job_id = uuid7()
    owner.execute(
        "INSERT INTO jobs (id, person_id, kind, params, state, finished_at)"
        " VALUES (%s, %s, 'export', %s, 'done', now())",
        (job_id, person.person_id, Jsonb({"query": urlencode(filters)})),
    )
    owner.execute("INSERT INTO job_parts (job_id, number, data) VALUES (%s, 1, 'x')", (job_id,))
    return job_id


def erased_lines(owner: Rows) -> set[int]:
    """The lines whose detail is gone."""
    return {row["id"] for row in owner.execute("SELECT id FROM access_log WHERE detail ? 'erased'")}


@pytest.mark.parametrize("author", ['"query": ', '"rows": 1', "erasure: requested"])
def test_an_author_whose_name_is_a_part_of_lines_leaves_them(
    database_url: str, redis_url: str, owner: Rows, author: str
) -> None:
    """Whole values are compared, not the JSON of a line."""
    line(owner, "list", "shop", query="decision=respond", rows=1)
    line(owner, "list", None, query="decision=respond", rows=1)
    before = erased_lines(owner)
    erase(database_url, redis_url, author)

    assert erased_lines(owner) == before


def test_lines_about_holds_and_erasures_stay(database_url: str, redis_url: str, owner: Rows) -> None:
    """Their values may equal the id; lines of other actions with that value lose it."""
    kept = {line(owner, "hold", "shop", placed="author-x"), line(owner, "erasure", "shop", change="author-x")}
    gone = line(owner, "conversation", "shop", conversation="author-x")
    erase(database_url, redis_url, "author-x")

    assert gone in erased_lines(owner)
    assert not kept & erased_lines(owner)


def test_searches_go_when_they_are_the_message_or_a_telling_word_of_it(
    database_url: str, redis_url: str, owner: Rows
) -> None:
    """A common word, or a part of one, says nothing about the author."""
    person = add_person(database_url, Role.VIEWER)
    stranger = add_person(database_url, Role.VIEWER, account="x")
    gone = {
        line(owner, "search", "shop", query=urlencode({"text": MESSAGE[:-6].upper()})),
        line(owner, "search", "shop", query=urlencode({"text": "JO@example.org"})),
        line(owner, "search", None, person, query=urlencode({"text": MESSAGE})),
        line(owner, "list", "shop", query=urlencode({"author": "searched author"})),
    }
    kept = {
        line(owner, "search", "shop", query="text=fun"),
        line(owner, "search", "shop", query="text=refund"),
        line(owner, "search", "other", query=urlencode({"text": MESSAGE})),
        line(owner, "search", None, stranger, query=urlencode({"text": MESSAGE})),
        line(owner, "search", None, person, query=urlencode({"account": "other", "text": MESSAGE})),
    }
    erase(database_url, redis_url, "searched author")

    assert gone <= erased_lines(owner)
    assert not kept & erased_lines(owner)


def test_views_of_people_without_rights_on_the_account_stay(
    database_url: str, redis_url: str, owner: Rows
) -> None:
    """Views that name the id or search for the message go, of people who may see the account."""
    person = add_person(database_url, Role.VIEWER)
    stranger = add_person(database_url, Role.VIEWER, account="x")
    gone = {view(owner, person, author="viewed"), view(owner, person, text=MESSAGE)}
    kept = {
        view(owner, stranger, author="viewed"),
        view(owner, stranger, text="refund"),
        view(owner, person, text="refund"),
        view(owner, person, account="other", author="viewed"),
    }
    erase(database_url, redis_url, "viewed")
    left = {row["id"] for row in owner.execute("SELECT id FROM saved_views")}

    assert kept <= left
    assert not gone & left


def test_exports_of_other_accounts_keep_their_parts(database_url: str, redis_url: str, owner: Rows) -> None:
    """An export that may contain the decision fails."""
    person = add_person(database_url, Role.VIEWER)
    store(database_url, [decided(user_id="shop", author_id="exported")])
    kept = export(owner, person, account="other")
    gone = {export(owner, person, account="shop"), export(owner, person)}
    erase(database_url, redis_url, "exported twice")  # its decision is newer than the exports
    between = {row["job_id"] for row in owner.execute("SELECT job_id FROM job_parts")}
    asyncio.run(erasing.erase(database_url, redis_url, "shop", ErasureKind.AUTHOR, "exported"))
    parts = {row["job_id"] for row in owner.execute("SELECT job_id FROM job_parts")}
    failed = {row["id"] for row in owner.execute("SELECT id FROM jobs WHERE state = 'failed'")}

    assert between == gone | {kept}
    assert parts == {kept}
    assert failed == gone


def test_a_closed_escalation_keeps_its_cause(database_url: str, redis_url: str, owner: Rows) -> None:
    """An open one is closed, as its message is gone."""
    made = [decided(user_id="shop", author_id="escalated", conversation_id=f"e{number}") for number in (1, 2)]
    store(database_url, made)
    closed = (datetime.now(UTC), "kim", "answered")
    for decision, (at, by, cause) in zip(made, (closed, (None, None, None)), strict=True):
        owner.execute(
            "INSERT INTO escalations (decision_id, user_id, event_id, conversation_id, message_id, author_id,"
            " scope, reason_code, queue, opened_at, closed_at, closed_by, cause)"
            " VALUES (%s, 'shop', 'e', %s, 'm', 'escalated', 'chat', 'MODEL_ESCALATED', '', now(), %s,"
            " %s, %s)",
            (decision.decision_id, decision.event.conversation_id, at, by, cause),
        )
    asyncio.run(erasing.erase(database_url, redis_url, "shop", ErasureKind.AUTHOR, "escalated"))
    rows = owner.execute("SELECT decision_id, cause FROM escalations").fetchall()
    causes = {row["decision_id"]: row["cause"] for row in rows}

    assert [causes[each.decision_id] for each in made] == ["answered", "message_deleted"]


def test_relays_and_the_access_log_do_not_wait_for_one_another(
    database_url: str, redis_url: str, owner: Rows
) -> None:
    """Decisions are erased while the log is locked, and the log is read while relays hold their lock."""
    store(database_url, [decided(user_id="shop", author_id="apart", text=MESSAGE)])
    logged = line(owner, "list", "shop", query="author=apart")
    erasure_id = asyncio.run(erasing.request(database_url, "shop", ErasureKind.AUTHOR, "apart"))
    asyncio.run(erasing.advance(database_url, redis_url))
    asyncio.run(erasing.confirm(database_url, erasure_id))
    impatient = make_conninfo(database_url, options="-c statement_timeout=2000")
    with (
        psycopg.connect(impatient, autocommit=True) as worker,
        psycopg.connect(database_url) as relay,
        psycopg.connect(database_url) as reader,
    ):
        worker.execute("SELECT hushgate_begin_erasure(%s, '0-0')", (erasure_id,))
        reader.execute("LOCK TABLE access_log, jobs, saved_views IN SHARE MODE")
        made = worker.execute("SELECT * FROM hushgate_erase_decisions(%s, 9)", (erasure_id,)).fetchone()
        reader.rollback()
        worker.execute("UPDATE erasures SET phase = %s WHERE id = %s", (ErasurePhase.QUERIES, erasure_id))
        relay.execute(RELAYS)
        looked = worker.execute("SELECT * FROM hushgate_erase_queries(%s, 999)", (erasure_id,)).fetchone()

    assert made is not None
    assert made[0]["ai_decisions"] == 1
    assert looked is not None
    assert (looked[0]["access_log"], looked[1]) == (1, True)
    assert logged in erased_lines(owner)


def test_a_reason_loses_the_id_and_keeps_longer_ids(database_url: str, owner: Rows) -> None:
    """Every character of an id stands for itself."""
    query = "SELECT hushgate_without(%s, %s) AS left"
    reasons = {
        "a.b*(c)\\1 wrote": ["a.b*(c)\\1"],
        "7 wrote, 17 did not, nor x7": ["7"],
        "顧客abc123です": ["abc123"],
    }
    found = [owner.execute(query, (reason, ids)).fetchone() for reason, ids in reasons.items()]

    assert [row and row["left"] for row in found] == [
        "... wrote", "... wrote, 17 did not, nor x7", "顧客...です"
    ]  # fmt: skip
