"""The runbook's queries, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import psycopg
import pytest

RUNBOOK: Final = Path(__file__).resolve().parents[2] / "deploy" / "runbook.md"
QUERIES: Final = re.findall(r"^ *```sql\n(.*?)^ *```$", RUNBOOK.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("query", QUERIES)
def test_query_of_the_runbook_runs(database_url: str, query: str) -> None:
    """Every SQL block is valid on the newest migration."""
    with psycopg.connect(database_url) as connection:
        status = connection.execute(query.encode()).statusmessage
        connection.rollback()

    assert status is not None


def test_runbook_has_queries() -> None:
    """The pattern above finds what it looks for."""
    assert len(QUERIES) >= 6
