"""Accounts: the newest row of ``ai_rules``."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from psycopg.rows import dict_row

from db.pool import Pool, checkout
from worker.model import Account, FailurePolicy

COLUMNS: Final = (
    "user_id, version, ai_control_enabled, ai_enabled_for_chats, ai_enabled_for_comments, flagged_keywords,"
    " flagged_phrases, allowed, rules_on_reply, moderation_thresholds, moderation_failure, hold_max_s,"
    " reply_max_age_s, prompt, assessment_policy, fallback_texts"
)
NEWEST: Final = f"SELECT {COLUMNS} FROM ai_rules WHERE user_id = %s ORDER BY version DESC LIMIT 1"  # noqa: S608
VERSIONS: Final = "SELECT user_id, max(version) FROM ai_rules WHERE user_id = ANY(%s) GROUP BY user_id"


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
    for name in ("flagged_keywords", "flagged_phrases", "allowed"):
        row[name] = tuple(row[name])
    row["moderation_failure"] = FailurePolicy(row["moderation_failure"])
    return Account(**row)
