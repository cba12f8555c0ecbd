"""Golden sets of an account: the sets, their items, and every change of them.

A set goes this way::

    create_set -> add_items (decisions, edited drafts, rows) -> load_items -> evaluation
                  remove_items
                  remove_set

Every change of items counts the set's version up, so that a result names exactly what it was measured on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from db.access_log import append_entry
from db.connection import Connection
from db.identifiers import uuid_at
from db.pool import Pool, checkout, fetch_as, fetch_dicts, fetch_one_as
from db.rows import first_value, from_row
from trials.pure.evaluation.items import (
    GoldenItem,
    GoldenLabel,
    GoldenRejected,
    GoldenSet,
    content_json,
    content_of,
)
from trials.store.candidates import Actor

NAME_CHARS: Final = 100
PURPOSE_CHARS: Final = 1000
MOST_ITEMS: Final = 100_000
"""Items of one set, which an evaluation reads into memory."""
COLUMNS: Final = (
    "s.id AS set_id, s.user_id, s.name, s.purpose, s.version, s.created_by, s.created_at, s.changed_at"
)
SELECT: Final = f"""
    SELECT {COLUMNS}, count(i.id) AS items FROM golden_sets s LEFT JOIN golden_set_items i ON i.set_id = s.id
"""
ONE: Final = f"{SELECT} WHERE s.user_id = %(user_id)s AND s.name = %(name)s GROUP BY s.id"
BY_ID: Final = f"{SELECT} WHERE s.id = %(id)s GROUP BY s.id"
LIST: Final = f"{SELECT} WHERE s.user_id = %(user_id)s GROUP BY s.id ORDER BY s.name LIMIT 1000"
NAMES: Final = "SELECT id, name FROM golden_sets WHERE user_id = %s ORDER BY name LIMIT 1000"
INSERT: Final = """
    INSERT INTO golden_sets (id, user_id, name, purpose, created_by, created_at, changed_at)
    VALUES (%(id)s, %(user_id)s, %(name)s, %(purpose)s, %(made_by)s, %(now)s, %(now)s)
"""
LOCK: Final = "SELECT id FROM golden_sets WHERE id = %s FOR UPDATE"
COUNT: Final = "SELECT count(*) FROM golden_set_items WHERE set_id = %s"
ADD: Final = """
    INSERT INTO golden_set_items (id, set_id, user_id, row_id, source, decision_id, conversation_id,
        author_id, expected, expected_reason, labelled_by, content, recorded_at, created_at)
    SELECT %(id)s, %(set_id)s, %(user_id)s, %(row_id)s, %(source)s, %(decision_id)s::uuid,
        %(conversation_id)s, %(author_id)s, %(expected)s, %(reason)s, %(labelled_by)s, %(content)s,
        %(recorded_at)s, %(now)s
    WHERE %(decision_id)s::uuid IS NULL OR EXISTS (
        SELECT FROM recordings r WHERE r.decision_id = %(decision_id)s::uuid)
    ON CONFLICT (set_id, row_id) DO NOTHING RETURNING id
"""
"""Stores nothing of a decision whose recording was erased after the read."""
CHANGED: Final = "UPDATE golden_sets SET version = version + 1, changed_at = %s WHERE id = %s"
REMOVE_ITEMS: Final = "DELETE FROM golden_set_items WHERE set_id = %s AND row_id = ANY(%s) RETURNING id"
REMOVE: Final = "DELETE FROM golden_sets WHERE id = %s RETURNING id"
ITEMS: Final = """
    SELECT id AS item_id, row_id, source, decision_id, expected, expected_reason, labelled_by, content,
           recorded_at
    FROM golden_set_items WHERE set_id = %(id)s AND (%(after)s::uuid IS NULL OR id > %(after)s)
    ORDER BY id LIMIT %(most)s
"""


async def create_set(source: Pool, user_id: str, name: str, purpose: str, step: Actor) -> GoldenSet:
    """A new set without items.

    Raises:
        GoldenRejected: name or purpose cannot be used, or the account has a set of this name.
    """
    _check_text("name", name, 1, NAME_CHARS)
    _check_text("purpose", purpose, 0, PURPOSE_CHARS)
    set_id = uuid_at(step.now)
    values = {"id": set_id, "user_id": user_id, "name": name.strip(), "purpose": purpose.strip()}
    try:
        async with checkout(source) as connection, connection.transaction():
            await connection.execute(INSERT, values | {"made_by": step.made_by, "now": step.now})
            await _log(connection, user_id, step, {"golden_set": name.strip(), "step": "created"})
    except psycopg.errors.UniqueViolation:
        raise GoldenRejected(f"name: expected one that {user_id} has no set of, got {name!r}") from None
    made = await get_set(source, set_id)
    assert made is not None  # it was just stored
    return made


async def find_set(source: Pool, user_id: str, name: str) -> GoldenSet | None:
    """The set of a name, or None."""
    return await fetch_one_as(source, GoldenSet, ONE, {"user_id": user_id, "name": name})


async def get_set(source: Pool, set_id: UUID) -> GoldenSet | None:
    """A set, or None."""
    return await fetch_one_as(source, GoldenSet, BY_ID, {"id": set_id})


async def list_sets(source: Pool, user_id: str) -> tuple[GoldenSet, ...]:
    """The sets of an account, by name."""
    return tuple(await fetch_as(source, GoldenSet, LIST, {"user_id": user_id}))


async def set_names(connection: Connection, user_id: str) -> dict[UUID, str]:
    """The names of an account's sets by their ids; without counting their items."""
    rows = await (await connection.execute(NAMES, (user_id,))).fetchall()
    return {row[0]: row[1] for row in rows}


async def add_items(source: Pool, golden: GoldenSet, items: Sequence[GoldenItem], step: Actor) -> int:
    """Add items, without changing items that the set has already; returns the number of new items.

    Raises:
        GoldenRejected: the set would be too large, or is gone.
    """
    async with checkout(source) as connection, connection.transaction():
        await _locked(connection, golden)
        number = await first_value(connection, COUNT, (golden.set_id,)) + len(items)
        if number > MOST_ITEMS:
            raise GoldenRejected(f"items: expected at most {MOST_ITEMS} in a set, got {number}")
        new = 0
        for place, each in enumerate(items):
            new += (await connection.execute(ADD, _values(golden, each, step, place))).rowcount
        if new:
            await _changed(connection, golden, step, {"step": "added", "items": new})
    return new


async def remove_items(source: Pool, golden: GoldenSet, row_ids: Sequence[str], step: Actor) -> int:
    """Remove items; how many there were.

    Raises:
        GoldenRejected: the set is gone.
    """
    async with checkout(source) as connection, connection.transaction():
        await _locked(connection, golden)
        gone = (await connection.execute(REMOVE_ITEMS, (golden.set_id, list(row_ids)))).rowcount
        if gone:
            await _changed(connection, golden, step, {"step": "removed", "items": gone})
    return gone


async def remove_set(source: Pool, golden: GoldenSet, step: Actor) -> None:
    """Remove a set with its items and results.

    Raises:
        GoldenRejected: it is gone.
    """
    async with checkout(source) as connection, connection.transaction():
        if not (await connection.execute(REMOVE, (golden.set_id,))).rowcount:
            raise _gone(golden)
        detail = {"golden_set": golden.name, "step": "set removed", "items": golden.items}
        await _log(connection, golden.user_id, step, detail)


async def load_items(
    source: Pool, golden: GoldenSet, *, after: UUID | None = None, most: int = MOST_ITEMS
) -> tuple[GoldenItem, ...]:
    """The items with their texts, in the order they were added. They are sealed: the caller logs who reads.

    Raises:
        GoldenRejected: one is damaged.
    """
    rows = await fetch_dicts(source, ITEMS, {"id": golden.set_id, "after": after, "most": most})
    return tuple(map(_item, rows))


def _item(row: dict[str, Any]) -> GoldenItem:
    label = from_row(GoldenLabel, row | {"reason": row["expected_reason"]})
    return from_row(GoldenItem, row | {"label": label, "content": content_of(row["content"])})


def _values(golden: GoldenSet, item: GoldenItem, step: Actor, number: int) -> dict[str, Any]:
    event = item.content.event
    return {
        "id": uuid_at(step.now + timedelta(milliseconds=number)),  # ids keep the order of the items
        "set_id": golden.set_id,
        "user_id": golden.user_id,
        "row_id": item.row_id,
        "source": item.source.value,
        "decision_id": item.decision_id,
        "conversation_id": event.conversation_id,
        "author_id": event.author_id,
        "expected": item.label.expected.value,
        "reason": item.label.reason,
        "labelled_by": item.label.labelled_by,
        "content": Jsonb(content_json(item.content)),
        "recorded_at": item.recorded_at,
        "now": step.now,
    }


async def _locked(connection: Connection, golden: GoldenSet) -> None:
    if await first_value(connection, LOCK, (golden.set_id,)) is None:
        raise _gone(golden)


async def _changed(connection: Connection, golden: GoldenSet, step: Actor, detail: dict[str, Any]) -> None:
    await connection.execute(CHANGED, (step.now, golden.set_id))
    await _log(connection, golden.user_id, step, {"golden_set": golden.name, **detail})


async def _log(connection: Connection, user_id: str, step: Actor, detail: dict[str, Any]) -> None:
    await append_entry(connection, step.logged(user_id, detail))


def _gone(golden: GoldenSet) -> GoldenRejected:
    return GoldenRejected(f"set: expected one of {golden.user_id}, got {golden.name!r}, which was removed")


def _check_text(field: str, text: str, least: int, most: int) -> None:
    if not least <= len(text.strip()) <= most or not text.isprintable():
        got = f"{len(text.strip())}" if text.isprintable() else "others"
        raise GoldenRejected(f"{field}: expected {least} to {most} printable characters, got {got}")
