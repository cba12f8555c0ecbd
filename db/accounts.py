"""Accounts: the newest row of ``ai_rules``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, Final

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from db.pool import Pool, checkout
from worker.model import Account, FailurePolicy

SETTABLE: Final = tuple(field.name for field in fields(Account) if field.name != "version")
NEWEST: Final = (
    f"SELECT version, {', '.join(SETTABLE)} FROM ai_rules WHERE user_id = %s ORDER BY version DESC LIMIT 1"  # noqa: S608  # names of our own fields
)
VERSIONS: Final = "SELECT user_id, max(version) FROM ai_rules WHERE user_id = ANY(%s) GROUP BY user_id"

RECENT: Final = """
    SELECT message_text FROM ai_decisions WHERE user_id = %s ORDER BY created_at DESC, id DESC LIMIT %s
"""
STORE: Final = (
    f"INSERT INTO ai_rules ({', '.join(SETTABLE)}, changed_by)"  # noqa: S608  # names of our own fields
    f" VALUES ({', '.join('%s' for _ in SETTABLE)}, %s) RETURNING version"
)


async def newest(source: Pool, user_id: str) -> Account:
    """An account's settings in force; version 0, with AI off, when it has none."""
    async with checkout(source) as connection:
        cursor = connection.cursor(row_factory=dict_row)
        row = await (await cursor.execute(NEWEST, (user_id,))).fetchone()
    return Account(user_id=user_id, version=0) if row is None else _account(row)


async def versions(source: Pool, user_ids: Collection[str]) -> dict[str, int]:
    """The newest version of each account that has one."""
    async with checkout(source) as connection:
        rows = await (await connection.execute(VERSIONS, (list(user_ids),))).fetchall()
    return dict(rows)


def _account(row: dict[str, Any]) -> Account:
    for name in ("flagged_keywords", "flagged_phrases", "allowed", "languages"):
        row[name] = tuple(row[name])
    row["moderation_failure"] = FailurePolicy(row["moderation_failure"])
    return Account(**row)


async def store(source: Pool, account: Account, *, changed_by: str) -> int:
    """Store an account's settings as its next version; the version it got."""
    values = [getattr(account, name) for name in SETTABLE]
    shown = [Jsonb(dict(value)) if isinstance(value, Mapping) else value for value in values]
    shown = [list(value) if isinstance(value, tuple) else value for value in shown]
    async with checkout(source) as connection:
        row = await (await connection.execute(STORE, (*shown, changed_by))).fetchone()
    assert row is not None  # noqa: S101  # INSERT ... RETURNING gives a row or raises
    return int(row[0])


async def recent_messages(source: Pool, user_id: str, limit: int) -> tuple[str, ...]:
    """The newest messages an account got, cut to 500 characters as the audit keeps them."""
    async with checkout(source) as connection:
        rows = await (await connection.execute(RECENT, (user_id, limit))).fetchall()
    return tuple(text for (text,) in rows)
