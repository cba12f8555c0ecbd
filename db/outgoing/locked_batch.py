"""Rows that wait for an output stream, in the transaction of the relay that sends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from psycopg import AsyncClientCursor
from psycopg.rows import dict_row

from db.connection import Connection
from db.rows import Values

Row = TypeVar("Row")
BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
"""Each statement under the locks must see what was committed before it, such as a takeover."""


async def begun(
    connection: Connection, lock: str, *reads: str, values: Values | None = None
) -> list[list[dict[str, Any]]] | None:
    """Begin a transaction, try to lock in it and read, in one round trip: the rows of each read.

    None without the lock; the reads were made nevertheless. Each sees what was committed before it. No
    pipeline: psycopg flushes at its end, after which Postgres limits no idle time of the transaction.
    """
    cursor = AsyncClientCursor(connection, row_factory=dict_row)
    await cursor.execute("; ".join((BEGIN, lock, *reads)), values)
    found = []
    while cursor.nextset():
        found.append(await cursor.fetchall())
    ((is_locked, *_),) = (row.values() for row in found[0])
    return found[1:] if is_locked else None


class LockedBatch(Generic[Row]):
    """Rows that wait for an output stream, locked by one relay.

    Attributes:
        connection: within the transaction that locks them.
        complete: False when rows that wait are left out, because their conversation is being taken over.
        settled: how many further rows were read and settled in this transaction.
        sent_before: rows that this transaction recorded as delivered: a relay that died had sent them.
    """

    def __init__(
        self,
        connection: Connection,
        rows: Sequence[Row],
        set_delivered: str,
        *,
        set_sent_as: str | None = None,
        complete: bool = True,
        settled: int = 0,
        sent_before: Sequence[Row] = (),
    ) -> None:
        self.connection = connection
        self._set_delivered = set_delivered
        self._set_sent_as = set_sent_as
        self.rows = tuple(rows)
        self.complete = complete
        self.settled = settled
        self.sent_before = tuple(sent_before)

    async def sent_for_others(self, others: Mapping[int, str]) -> None:
        """Record rows whose entry the stream has for another decision, by row."""
        if others and self._set_sent_as:
            await self.connection.execute(self._set_sent_as, (list(others.values()), list(others)))

    async def delivered(self, ids: Sequence[int], at: datetime) -> None:
        """Record that rows were put on the stream, and commit, in one round trip."""
        cursor = AsyncClientCursor(self.connection)
        await cursor.execute(f"{self._set_delivered}; COMMIT", (at, list(ids)))
