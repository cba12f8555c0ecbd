"""A list by customers' marks reads few rows, however many decisions and marks there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg

from db.audit.decision_list import load_page
from db.audit.filters import Filters
from db.customer_feedback.reading import FeedbackFilter
from db.review_store import Store
from tests.support import review_rows

MANY = 3000
READ = """
SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_user_tables
WHERE relname LIKE 'ai\\_decisions\\_%' OR relname = 'customer_feedback'
"""


async def test_a_list_by_feedback_reads_few_rows(url: str) -> None:
    """A page of the decisions that customers call wrong."""
    now = datetime.now(UTC).replace(microsecond=0)
    rows = [review_rows.decided(now - timedelta(minutes=10 * each)) for each in range(MANY)]
    review_rows.store(url, rows)
    review_rows.rate(url, rows)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("VACUUM ANALYZE")
    async with Store(url, size=1) as store, store.reading() as connection:
        found = await load_page(connection, Filters(feedback=FeedbackFilter.WRONG), limit=20)
        read = await (await connection.execute(READ)).fetchone()

    assert len(found.rows) == 20
    assert read is not None
    assert read[0] < MANY / 10
