"""Accounts: the newest row of ``ai_rules``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, fields
from typing import Any, Final

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from db import access_log
from db.access_log import LogEntry
from db.high_score_categories import PATH as HOT_PATH
from db.pool import Pool, checkout
from worker.errors import RejectedError
from worker.model import Account, Combination, FailurePolicy, ModeratorChoice

SETTABLE: Final = tuple(field.name for field in fields(Account) if field.name != "version")
NEWEST: Final = (
    f"SELECT version, {', '.join(SETTABLE)} FROM ai_rules WHERE user_id = %s ORDER BY version DESC LIMIT 1"
)
VERSIONS: Final = "SELECT user_id, max(version) FROM ai_rules WHERE user_id = ANY(%s) GROUP BY user_id"

RECENT: Final = """
    SELECT message_text FROM ai_decisions WHERE user_id = %s ORDER BY created_at DESC, id DESC LIMIT %s
"""
RECENT_ROWS: Final = """
    SELECT id, message_text, matched_rule,
           jsonb_path_query_array(snapshot_json, %s::jsonpath) AS hot_categories
    FROM ai_decisions WHERE user_id = %s ORDER BY created_at DESC, id DESC LIMIT %s
"""
SERIALISE: Final = "SELECT pg_advisory_xact_lock(hashtextextended('ai_rules:' || %s, 0))"
IN_FORCE: Final = "SELECT coalesce(max(version), 0) FROM ai_rules WHERE user_id = %s"
USED: Final = """
    SELECT EXISTS (SELECT FROM ai_rules WHERE user_id = %(user_id)s)
        OR EXISTS (SELECT FROM event_keys WHERE user_id = %(user_id)s)
        OR EXISTS (SELECT FROM documents WHERE user_id = %(user_id)s)
"""
STORE: Final = (
    f"INSERT INTO ai_rules ({', '.join(SETTABLE)}, changed_by)"
    f" VALUES ({', '.join('%s' for _ in SETTABLE)}, %s) RETURNING version"
)


class VersionMoved(RejectedError):
    """Another version is in force than the one that a change was made from.

    Attributes:
        in_force: number of the version in force.
    """

    def __init__(self, user_id: str, *, expected: int, in_force: int) -> None:
        super().__init__(f"version: expected {expected} of {user_id} in force, got {in_force}")
        self.in_force = in_force


async def current_account(source: Pool, user_id: str) -> Account:
    """An account's settings in force; version 0, with AI off, when it has none."""
    async with checkout(source) as connection:
        cursor = connection.cursor(row_factory=dict_row)
        row = await (await cursor.execute(NEWEST, (user_id,))).fetchone()
    return Account(user_id=user_id, version=0) if row is None else account_from_row(row)


async def current_versions(source: Pool, user_ids: Collection[str]) -> dict[str, int]:
    """The number of the newest version, by account; accounts without settings are left out."""
    async with checkout(source) as connection:
        rows = await (await connection.execute(VERSIONS, (list(user_ids),))).fetchall()
    return dict(rows)


async def is_used(source: Pool, user_id: str) -> bool:
    """Whether anything is stored under this name: settings, decisions or documents."""
    async with checkout(source) as connection:
        row = await (await connection.execute(USED, {"user_id": user_id})).fetchone()
    return bool(row and row[0])


def account_from_row(row: dict[str, Any]) -> Account:
    """The account of a row that holds its version and ``SETTABLE``."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    known = {
        "moderation_failure": FailurePolicy(row["moderation_failure"]),
        "moderation_combination": Combination(row["moderation_combination"]),
        "moderators": tuple(moderator_from_json(each) for each in row["moderators"]),
    }
    return Account(**values | known)


def moderator_from_json(stored: Mapping[str, Any]) -> ModeratorChoice:
    """One moderator as a row holds it; a missing part has its default."""
    failure = stored.get("failure")
    return ModeratorChoice(
        name=stored["name"],
        endpoint=stored["endpoint"],
        failure=FailurePolicy(failure) if failure else None,
        thresholds=stored.get("thresholds") or {},
        policy=stored.get("policy") or "",
    )


async def store_account(
    source: Pool,
    account: Account,
    *,
    changed_by: str,
    expected: int | None = None,
    logged: Callable[[int], LogEntry] | None = None,
) -> int:
    """Store an account's settings as its next version; the number of that version.

    ``expected`` is the version that must be in force, 0 for an account without settings, None for any;
    ``logged`` makes the entry of the access log from the new version, written in the same transaction.

    Raises:
        VersionMoved: another version is in force than expected; nothing was stored.
    """
    stored = {name: getattr(account, name) for name in SETTABLE}
    stored["moderators"] = Jsonb([asdict(each) for each in account.moderators])
    shown = [Jsonb(dict(value)) if isinstance(value, Mapping) else value for value in stored.values()]
    shown = [list(value) if isinstance(value, tuple) else value for value in shown]
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(SERIALISE, (account.user_id,))
        found = await (await connection.execute(IN_FORCE, (account.user_id,))).fetchone()
        if found and expected is not None and found[0] != expected:
            raise VersionMoved(account.user_id, expected=expected, in_force=found[0])
        row = await (await connection.execute(STORE, (*shown, changed_by))).fetchone()
        assert row is not None  # INSERT ... RETURNING gives a row or raises
        if logged is not None:
            await access_log.append_entry_psycopg(connection, logged(int(row[0])))
    return int(row[0])


async def recent_messages(source: Pool, user_id: str, limit: int) -> tuple[str, ...]:
    """The newest messages of an account, at most 500 characters of each, as the audit stores them."""
    async with checkout(source) as connection:
        rows = await (await connection.execute(RECENT, (user_id, limit))).fetchall()
    return tuple(text for (text,) in rows)


async def recent_decisions(source: Pool, user_id: str, limit: int) -> tuple[dict[str, Any], ...]:
    """The newest decisions of an account: id, message, matched rule and high-scoring categories."""
    async with checkout(source) as connection:
        cursor = connection.cursor(row_factory=dict_row)
        rows = await (await cursor.execute(RECENT_ROWS, (HOT_PATH, user_id, limit))).fetchall()
    return tuple(rows)
