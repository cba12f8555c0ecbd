"""The rows beside the decisions that the benchmark of the review pages makes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg

from bench.audit_people_rows import fill_people_rows
from tests.support import review_rows

ESCALATED = {"decision": "escalate", "reason_code": "LOW_CONFIDENCE_ESCALATED"}


def test_every_table_takes_its_rows(url: str) -> None:
    """The statements fit the tables of the newest migration."""
    at = datetime.now(UTC) - timedelta(hours=2)
    rows = [
        review_rows.decided(at, user_id=f"account-{each % 200}", **(ESCALATED if each % 2 else {}))
        for each in range(2000)
    ]
    review_rows.store(url, rows)
    with psycopg.connect(url, autocommit=True) as connection:
        fill_people_rows(connection)
        tables = ("answers", "escalations", "trials", "queue_items", "appeals", "comment_mentions")
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() for table in tables
        }

    assert [table for table, count in counts.items() if count == (0,)] == []
