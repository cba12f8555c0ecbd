"""Dead letters by filter, and what people do with them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson

from db.access_log import LogEntry, append_entry
from db.connection import Connection
from db.pool import Pool, checkout, fetch_as
from db.rows import row_as

PAGE: Final = 200
"""Letters read at a time: with their payloads at most 13 MB."""
COLUMNS: Final = """
    entry_id, created_at, reason_code, field, expected, got, size_bytes, raw, retried_at, retried_as
"""
LOCK: Final = f"SELECT {COLUMNS} FROM dead_letters WHERE entry_id = %s FOR UPDATE"
READ: Final = f"""
    SELECT {COLUMNS} FROM dead_letters
    WHERE (%(ids)s::text[] IS NULL OR entry_id = ANY(%(ids)s))
        AND (%(reason)s::text IS NULL OR reason_code = %(reason)s)
        AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
        AND (%(before)s::timestamptz IS NULL OR created_at < %(before)s)
        AND (%(shard)s::text IS NULL OR split_part(entry_id, '@', 2) = %(shard)s)
        AND (%(retried)s::boolean IS NULL OR (retried_at IS NOT NULL) = %(retried)s)
        AND (%(after)s::text IS NULL OR (created_at, entry_id) < (%(after_at)s, %(after)s))
    ORDER BY created_at DESC, entry_id DESC LIMIT {PAGE}
"""
SET_RETRIED: Final = """
    UPDATE dead_letters SET retried_at = %(at)s, retried_as = %(made)s WHERE entry_id = %(entry_id)s
"""
DROP: Final = "SELECT hushgate_drop_letters(%s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFilter:
    """Which dead letters; None means any.

    Attributes:
        ids: stream entries.
        account: as the payload names it; a payload that cannot be read names none.
        shard: as at the end of entry ids after ``@``, such as ``2/4``; empty: those of a single stream.
        retried: whether it was published again.
    """

    ids: tuple[str, ...] | None = None
    account: str | None = None
    reason: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    shard: str | None = None
    retried: bool | None = None

    @property
    def is_any(self) -> bool:
        """True when the filter selects every dead letter except republished ones."""
        return not any((self.ids, self.account, self.reason, self.since, self.before, self.shard))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLetter:
    """A row of ``dead_letters``; ``raw`` is user text, and so may ``got`` be."""

    entry_id: str
    created_at: datetime
    reason_code: str
    field: str
    expected: str
    got: str
    size_bytes: int
    raw: bytes
    retried_at: datetime | None
    retried_as: str | None

    @property
    def account(self) -> str | None:
        """The account that the payload names; None for an unreadable payload or one without account."""
        try:
            body = orjson.loads(self.raw)
        except orjson.JSONDecodeError:
            return None
        if isinstance(body, dict) and isinstance(body.get("data"), dict) and "specversion" in body:
            body = body["data"]
        found = body.get("user_id") if isinstance(body, dict) else None
        return found if isinstance(found, str) else None

    @property
    def problem(self) -> str | None:
        """Why the letter cannot be published again; None when it can be."""
        if self.retried_as:
            return f"it was published again as {self.retried_as}"
        if not self.size_bytes:
            return "the entry had no field data, so there is nothing to publish"
        if len(self.raw) < self.size_bytes:
            kept = f"only {len(self.raw)} of {self.size_bytes} bytes were kept"
            return f"{kept}; publish the payload from its source"
        return None

    @property
    def place(self) -> tuple[int, int, str]:
        """Where its entry was: the order in which letters are published again."""
        raw, _, mark = self.entry_id.partition("@")
        milliseconds, _, sequence = raw.partition("-")
        return int(milliseconds), int(sequence), mark


async def find_letters(source: Pool, chosen: LetterFilter, limit: int) -> tuple[StoredLetter, ...]:
    """The newest dead letters that a filter chooses, newest first; raises ``StorageUnavailable``."""
    found: list[StoredLetter] = []
    async for letter in _each(source, chosen):
        if chosen.account is None or letter.account == chosen.account:
            found.append(letter)
            if len(found) == limit:
                break
    return tuple(found)


async def _each(source: Pool, chosen: LetterFilter) -> AsyncIterator[StoredLetter]:
    values = {
        "ids": None if chosen.ids is None else list(chosen.ids), "reason": chosen.reason,
        "since": chosen.since, "before": chosen.before, "shard": chosen.shard, "retried": chosen.retried,
        "after": None, "after_at": None,
    }  # fmt: skip
    while True:
        rows = await fetch_as(source, StoredLetter, READ, values)
        for row in rows:
            yield row
        if len(rows) < PAGE:
            return
        values |= {"after": rows[-1].entry_id, "after_at": rows[-1].created_at}


@asynccontextmanager
async def locked_letter(source: Pool, entry_id: str) -> AsyncIterator[tuple[Connection, StoredLetter | None]]:
    """A letter in a transaction that keeps others from publishing it; None when it was dropped meanwhile."""
    async with checkout(source) as connection, connection.transaction():
        yield connection, await row_as(connection, StoredLetter, LOCK, (entry_id,))


async def set_retried(
    connection: Connection, entry_id: str, made: str, at: datetime, *, logged: LogEntry
) -> None:
    """Record that the letter of ``locked_letter`` was published again, with its line of the access log."""
    await connection.execute(SET_RETRIED, {"entry_id": entry_id, "made": made, "at": at})
    await append_entry(connection, logged)


async def drop_letters(source: Pool, entries: Sequence[str], *, logged: LogEntry) -> frozenset[str]:
    """Delete dead letters that are not under a legal hold. Returns the deleted ids."""
    async with checkout(source) as connection, connection.transaction():
        rows = await (await connection.execute(DROP, (list(entries),))).fetchall()
        gone = frozenset(row[0] for row in rows)
        if gone:
            await append_entry(connection, logged)
    return gone


async def log_reading(source: Pool, logged: LogEntry) -> None:
    """Append the line of a reading of payloads; raises ``StorageUnavailable``: nothing may be shown then."""
    async with checkout(source) as connection:
        await append_entry(connection, logged)
