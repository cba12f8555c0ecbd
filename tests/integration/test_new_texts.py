"""New texts reach their search index without a commit that waits for it."""

from __future__ import annotations

import pytest

from db.audit.new_texts import LEAST_PAUSE_S, MERGE, MOST_PAUSE_S, PAGES, next_pause_s
from db.commits.record import record_decision
from db.pool import WORKER_ROLE, create_pool, fetch_value
from tests.support.decided import new_event, reply_to


async def test_a_worker_merges_the_texts_of_its_decisions(database_url: str) -> None:
    """Once; the next call finds nothing."""
    async with create_pool(database_url, size=1, application="test", role=WORKER_ROLE) as source:
        await fetch_value(source, MERGE)
        await record_decision(source, reply_to(new_event()))
        merged = [await fetch_value(source, MERGE) for _ in range(2)]

    assert merged == [1, 0]


@pytest.mark.parametrize(
    ("pause_s", "pages", "expected_s"),
    [
        (10.0, 0, MOST_PAUSE_S),
        (10.0, PAGES, 10.0),
        (10.0, 2 * PAGES, 5.0),
        (2.0, 100 * PAGES, LEAST_PAUSE_S),
        (20.0, PAGES // 4, MOST_PAUSE_S),
    ],
)
def test_the_pause_follows_the_rate_of_decisions(pause_s: float, pages: int, expected_s: float) -> None:
    """As many texts wait for each merging, within limits."""
    assert next_pause_s(pause_s, pages) == expected_s
