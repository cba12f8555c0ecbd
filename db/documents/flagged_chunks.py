"""Chunks that failed a check at upload: they are not retrieved until a person releases them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from db.access_log import LogEntry, append_entry
from db.documents.account_screening import AccountScreening
from db.pool import Pool, checkout, fetch_dicts, fetch_rows
from worker.documents.model import Chunk

FLAGGED: Final = """
    SELECT c.document_id, c.number AS part, d.source, c.title, c.text, c.flags AS checks, c.released_at,
           c.released_by
    FROM chunks c JOIN documents d ON d.user_id = %(user_id)s AND d.id = c.document_id
    WHERE c.user_id = %(user_id)s AND c.flags <> '{}'
      AND (%(document_id)s::bigint IS NULL OR c.document_id = %(document_id)s)
    ORDER BY c.document_id, c.number LIMIT %(limit)s
"""
RELEASE: Final = """
    UPDATE chunks SET released_at = now(), released_by = %(person)s
    WHERE user_id = %(user_id)s AND document_id = %(document_id)s AND flags <> '{}' AND released_at IS NULL
      AND (%(parts)s::int[] IS NULL OR number = ANY(%(parts)s)) RETURNING number
"""
HOLD_BACK: Final = """
    UPDATE chunks SET released_at = NULL, released_by = NULL
    WHERE user_id = %(user_id)s AND document_id = %(document_id)s AND released_at IS NOT NULL
      AND (%(parts)s::int[] IS NULL OR number = ANY(%(parts)s)) RETURNING number
"""
NEXT: Final = """
    SELECT document_id, number, title, text FROM chunks
    WHERE user_id = %(user_id)s AND (document_id, number) > (%(document_id)s, %(number)s)
    ORDER BY document_id, number LIMIT %(limit)s
"""
MARK: Final = """
    UPDATE chunks SET flags = %(flags)s,
        released_at = CASE WHEN %(flags)s::text[] <@ flags THEN released_at END,
        released_by = CASE WHEN %(flags)s::text[] <@ flags THEN released_by END
    WHERE user_id = %(user_id)s AND document_id = %(document_id)s AND number = %(number)s
      AND flags <> %(flags)s::text[]
"""
MOST_LISTED: Final = 1000
EntryOfParts: TypeAlias = Callable[[tuple[int, ...]], LogEntry]
"""The line of the access log for the parts that were changed, in their transaction."""
BATCH: Final = 500


async def list_flagged(
    source: Pool, user_id: str, document_id: int | None = None, *, limit: int = MOST_LISTED
) -> list[dict[str, Any]]:
    """The flagged chunks of an account or of one of its documents, with their checks, in order."""
    values = {"user_id": user_id, "document_id": document_id, "limit": limit}
    return await fetch_dicts(source, FLAGGED, values)


async def release_chunks(
    source: Pool,
    user_id: str,
    document_id: int,
    parts: Sequence[int] | None,
    *,
    person: str,
    logged: EntryOfParts | None = None,
) -> tuple[int, ...]:
    """Let flagged chunks be retrieved, all of a document for None; the numbers of those that were not."""
    values = {"user_id": user_id, "document_id": document_id, "parts": _array(parts), "person": person}
    return await _changed(source, RELEASE, values, logged)


async def hold_back_chunks(
    source: Pool,
    user_id: str,
    document_id: int,
    parts: Sequence[int] | None,
    *,
    logged: EntryOfParts | None = None,
) -> tuple[int, ...]:
    """Undo a release; the numbers of the chunks that are held back again."""
    values = {"user_id": user_id, "document_id": document_id, "parts": _array(parts)}
    return await _changed(source, HOLD_BACK, values, logged)


async def screen_chunks(source: Pool, user_id: str) -> tuple[int, int]:
    """Check an account's chunks again by the settings in force: how many there are, and how many changed.

    A release stays unless the chunk fails another check than before.
    """
    texts, after, seen, changed = AccountScreening(source), (0, 0), 0, 0
    while True:
        place = {"user_id": user_id, "document_id": after[0], "number": after[1], "limit": BATCH}
        if not (rows := await fetch_rows(source, NEXT, place)):
            return seen, changed
        chunks = [Chunk(number=row[1], title=row[2], text=row[3], start=0, end=0) for row in rows]
        flags = await texts.flags(user_id, chunks)
        async with checkout(source) as connection, connection.transaction():
            for row, found in zip(rows, flags, strict=True):
                values = place | {"document_id": row[0], "number": row[1], "flags": list(found)}
                changed += (await connection.execute(MARK, values)).rowcount
        seen, after = seen + len(rows), (rows[-1][0], rows[-1][1])


def _array(parts: Sequence[int] | None) -> list[int] | None:
    return None if parts is None else list(parts)


async def _changed(
    source: Pool, statement: str, values: Mapping[str, Any], logged: EntryOfParts | None
) -> tuple[int, ...]:
    async with checkout(source) as connection, connection.transaction():
        rows = await (await connection.execute(statement, values)).fetchall()
        changed = tuple(sorted(row[0] for row in rows))
        if changed and logged is not None:
            await append_entry(connection, logged(changed))
    return changed
