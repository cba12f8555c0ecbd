"""Pages read few rows of an account with many decisions, also where Postgres plans a statement only once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from db.answers.waiting import WaitingItem, count_waiting, load_texts
from db.audit.decision_context import load_conversation
from db.audit.decision_list import load_page
from db.audit.filters import Filters
from db.connection import Connection
from db.customer_feedback.reading import FeedbackFilter
from db.review_store import Store
from tests.support import review_rows

NOW = datetime.now(UTC).replace(microsecond=0)
MANY = 3000
ANSWERED = """
INSERT INTO escalations (decision_id, user_id, event_id, conversation_id, message_id, author_id, scope,
    reason_code, queue, opened_at, closed_at, closed_by, cause)
SELECT id, user_id, event_id, conversation_id, message_id, author_id, scope, reason_code, '', created_at,
    now(), 'kim', 'answered' FROM ai_decisions
"""
READ = """
SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_user_tables
WHERE relname LIKE 'ai\\_decisions\\_%' OR relname IN ('customer_feedback', 'escalations')
"""


def waiting(row: dict[str, Any]) -> WaitingItem:
    """A decision that waits for an answer."""
    names = ("user_id", "conversation_id", "reason_code")
    values = {name: row[name] for name in names}
    return WaitingItem(decision_id=row["id"], queue="", since=row["created_at"], send_before=None, **values)


@pytest.fixture
def rows(url: str) -> list[dict[str, Any]]:
    """Decisions of a month, every one in a conversation of its own, answered by a person and called wrong."""
    found = [review_rows.decided(NOW - timedelta(minutes=10 * each)) for each in range(MANY)]
    review_rows.store(url, found)
    review_rows.rate(url, found)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(ANSWERED)
        connection.execute("VACUUM ANALYZE")
    return found


READS: dict[str, Callable[[Connection, list[dict[str, Any]]], Awaitable[object]]] = {
    "neighbours": lambda connection, rows: load_conversation(connection, rows[MANY // 2]),
    "texts": lambda connection, rows: load_texts(connection, [waiting(rows[0]), waiting(rows[-1])], NOW),
    "waiting": lambda connection, rows: count_waiting(connection, None, now=NOW, most=100),
}


async def rows_read(connection: Connection) -> int:
    """How many rows the transaction read so far."""
    read = await (await connection.execute(READ)).fetchone()
    return int(read[0]) if read else 0


@pytest.mark.parametrize("name", READS)
async def test_a_page_reads_few_rows(name: str, url: str, rows: list[dict[str, Any]]) -> None:
    """The neighbours of a decision, the texts of what waits, and its number."""
    async with Store(url, size=1) as store, store.reading() as connection:
        await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.prepare_threshold = 0
        await READS[name](connection, rows)
        connection.prepare_threshold = None
        read = await rows_read(connection)

    assert read < MANY / 20


async def test_a_list_by_feedback_reads_few_rows(url: str, rows: list[dict[str, Any]]) -> None:
    """A page of the decisions that customers call wrong."""
    async with Store(url, size=1) as store, store.reading() as connection:
        found = await load_page(connection, Filters(feedback=FeedbackFilter.WRONG), limit=20)
        read = await rows_read(connection)

    assert len(found.rows) == 20
    assert read < MANY / 10
