"""Versions of accounts: their settings, authors and changes, and the list of accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from db.account_settings.accounts import SETTABLE, account_from_row
from db.pool import Pool, fetch_as, fetch_dicts
from worker.account_settings import RULES
from worker.model import Account

PLAIN: Final = tuple(name for name in SETTABLE if name not in RULES and name != "user_id")
ONE: Final = f"""
    SELECT version, changed_by, changed_at, {", ".join(SETTABLE)} FROM ai_rules
    WHERE user_id = %(user_id)s AND (version = %(version)s::int OR %(version)s::int IS NULL)
    ORDER BY version DESC LIMIT 1
"""
ADDED: Final = """
    CASE WHEN new.{name} IS DISTINCT FROM old.{name} THEN (
        SELECT count(*) FROM (SELECT unnest({more}.{name}) EXCEPT ALL SELECT unnest({less}.{name})) AS one
    ) ELSE 0 END"""
HISTORY: Final = f"""
    SELECT new.version, new.changed_by, new.changed_at, old.version AS follows,
           {" + ".join(ADDED.format(name=name, more="new", less="old") for name in RULES)} AS added,
           {" + ".join(ADDED.format(name=name, more="old", less="new") for name in RULES)} AS removed,
           array_remove(ARRAY[
               {", ".join(f"CASE WHEN new.{n} IS DISTINCT FROM old.{n} THEN '{n}' END" for n in PLAIN)}
           ], NULL) AS settings
    FROM (SELECT * FROM ai_rules WHERE user_id = %(user_id)s AND version < %(before)s
          ORDER BY version DESC LIMIT %(limit)s) AS new
    LEFT JOIN ai_rules old ON old.user_id = new.user_id AND old.version = (
        SELECT max(version) FROM ai_rules WHERE user_id = %(user_id)s AND version < new.version)
    ORDER BY new.version DESC
"""
KNOWN_ACCOUNTS: Final = """
    WITH RECURSIVE known AS (
        SELECT least((SELECT min(user_id) FROM ai_rules WHERE user_id > %(after)s),
                     (SELECT min(user_id) FROM event_keys WHERE user_id > %(after)s),
                     (SELECT min(user_id) FROM documents WHERE user_id > %(after)s)) AS user_id
        UNION ALL
        SELECT least((SELECT min(user_id) FROM ai_rules r WHERE r.user_id > known.user_id),
                     (SELECT min(user_id) FROM event_keys e WHERE e.user_id > known.user_id),
                     (SELECT min(user_id) FROM documents d WHERE d.user_id > known.user_id))
        FROM known WHERE known.user_id IS NOT NULL
    ), named AS (
        SELECT user_id FROM known WHERE user_id IS NOT NULL
    )"""
NAMED_ACCOUNTS: Final = """
    WITH named AS (
        SELECT DISTINCT user_id FROM unnest(%(accounts)s::text[]) AS user_id
        WHERE user_id > %(after)s ORDER BY user_id
    )"""
LISTED: Final = """, page AS MATERIALIZED (
        SELECT user_id FROM named
        WHERE %(search)s = '' OR strpos(lower(user_id), lower(%(search)s)) > 0 LIMIT %(limit)s
    )
    SELECT page.user_id, coalesce(r.version, 0) AS version, r.changed_by, r.changed_at,
           coalesce(r.ai_control_enabled, false) AS on,
           coalesce(r.ai_enabled_for_chats, false) AS chats,
           coalesce(r.ai_enabled_for_comments, false) AS comments,
           coalesce(cardinality(r.flagged_keywords) + cardinality(r.flagged_phrases), 0) AS rules,
           (SELECT count(*) FROM documents d WHERE d.user_id = page.user_id) AS documents
    FROM page LEFT JOIN LATERAL (
        SELECT * FROM ai_rules WHERE ai_rules.user_id = page.user_id ORDER BY version DESC LIMIT 1
    ) AS r ON true
    ORDER BY page.user_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountVersion:
    """One version of an account; ``changed_at`` is None for version 0, which has no row."""

    account: Account
    changed_by: str
    changed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChange:
    """The changes of one version.

    Attributes:
        follows: the version it replaced; None for the first.
        added: rules and allowed texts that the replaced version did not have.
        settings: names of the other settings that differ.
    """

    version: int
    changed_by: str
    changed_at: datetime
    follows: int | None
    added: int
    removed: int
    settings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSummary:
    """One account in a list; version 0 has no settings yet."""

    user_id: str
    version: int
    changed_by: str | None
    changed_at: datetime | None
    on: bool
    chats: bool
    comments: bool
    rules: int
    documents: int


async def get_version(source: Pool, user_id: str, version: int | None = None) -> AccountVersion | None:
    """A version, or the one in force; None when the account has no such version."""
    for row in await fetch_dicts(source, ONE, {"user_id": user_id, "version": version}):
        changed_by, changed_at = row.pop("changed_by"), row.pop("changed_at")
        return AccountVersion(account=account_from_row(row), changed_by=changed_by, changed_at=changed_at)
    return None


async def current_version(source: Pool, user_id: str) -> AccountVersion:
    """The version in force; version 0, with AI off, for an account without versions."""
    unset = AccountVersion(account=Account(user_id=user_id, version=0), changed_by="", changed_at=None)
    return await get_version(source, user_id) or unset


async def list_changes(source: Pool, user_id: str, *, before: int, limit: int) -> tuple[VersionChange, ...]:
    """The changes of the versions below ``before``, newest first."""
    values = {"user_id": user_id, "before": before, "limit": limit}
    return tuple(await fetch_as(source, VersionChange, HISTORY, values))


async def list_accounts(
    source: Pool, accounts: Sequence[str] | None, *, search: str, after: str, limit: int
) -> tuple[AccountSummary, ...]:
    """Accounts by name: the given ones, or with None all that have settings, decisions or documents."""
    values = {"search": search, "after": after, "limit": limit, "accounts": list(accounts or ())}
    statement = (KNOWN_ACCOUNTS if accounts is None else NAMED_ACCOUNTS) + LISTED
    return tuple(await fetch_as(source, AccountSummary, statement, values))
