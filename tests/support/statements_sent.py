"""Which statements this process sends to Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest


@contextmanager
def sent_statements() -> Iterator[list[str]]:
    """The statements of every asynchronous connection while the block runs, in order."""
    sent: list[str] = []
    execute = psycopg.AsyncCursor.execute

    async def noted(cursor: Any, query: Any, *values: Any, **options: Any) -> Any:
        sent.append(query if isinstance(query, str) else str(query))
        return await execute(cursor, query, *values, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(psycopg.AsyncCursor, "execute", noted)
        yield sent
