"""Accounts: the newest row of ``ai_rules``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Final, TypeVar

import structlog
from psycopg.types.json import Jsonb

from db import access_log
from db.access_log import LogEntry
from db.connection import Connection
from db.pool import Pool, checkout, fetch_as, fetch_dicts, fetch_rows, fetch_value
from db.rows import first_value, from_row
from db.tables import HIGH_SCORE_PATH, LATE_CATEGORIES
from features.feature import hook_values
from worker.errors import RejectedError
from worker.model import (
    Account,
    BudgetAction,
    Combination,
    FailurePolicy,
    ModeratorChoice,
    ReplyMode,
    RuleLevel,
    Shedding,
    StaleReply,
)

log = structlog.get_logger(__name__)

WITH_AI: Final = """
    SELECT user_id, disclosure_texts <> '{}' AS discloses,
        EXISTS (SELECT FROM documents WHERE documents.user_id = newest.user_id) AS has_documents,
        coalesce(budget_day_usd, budget_month_usd) IS NOT NULL AND EXISTS (
            SELECT FROM account_costs WHERE account_costs.user_id = newest.user_id AND grain = 'month'
                AND start = date_trunc('month', now() AT TIME ZONE 'UTC')::date AND unpriced_tokens > 0
        ) AS has_uncounted_costs
    FROM (SELECT DISTINCT ON (user_id) user_id, ai_control_enabled, disclosure_texts, budget_day_usd,
              budget_month_usd FROM ai_rules ORDER BY user_id, version DESC) AS newest
    WHERE ai_control_enabled ORDER BY user_id
"""
STRICT_FAILURE: Final = FailurePolicy.HOLD
FALLBACKS: Final[Mapping[str, StrEnum]] = {
    "rule_level": RuleLevel.DEFAULT,
    "stale_reply": StaleReply.DISCARD,
    "shedding": Shedding.OLDEST_FIRST,
    "reply_mode": ReplyMode.SUGGEST,
    "budget_action": BudgetAction.SUGGEST,
    "moderation_failure": STRICT_FAILURE,
    "moderation_combination": Combination.ANY,
}
"""Setting -> its value where the stored one is of a newer release, so that a rollback loses no event.

The cautious value, except for ``rule_level``: strict rules would stop messages that the account lets pass.
"""
Choice = TypeVar("Choice", bound=StrEnum)

SETTABLE: Final = tuple(field.name for field in fields(Account) if field.name != "version")
NEWEST: Final = (
    f"SELECT version, {', '.join(SETTABLE)} FROM ai_rules WHERE user_id = %s ORDER BY version DESC LIMIT 1"
)
VERSIONS: Final = "SELECT user_id, max(version) FROM ai_rules WHERE user_id = ANY(%s) GROUP BY user_id"

RECENT: Final = """
    SELECT message_text FROM ai_decisions WHERE user_id = %s ORDER BY created_at DESC, id DESC LIMIT %s
"""
RECENT_ROWS: Final = f"""
    SELECT id, message_text, matched_rule,
           jsonb_path_query_array(snapshot_json, %s::jsonpath) || {LATE_CATEGORIES} AS high_score_categories
    FROM ai_decisions WHERE user_id = %s ORDER BY created_at DESC, id DESC LIMIT %s
"""
SERIALISE: Final = "SELECT pg_advisory_xact_lock(hashtextextended('ai_rules:' || %s, 0))"
IN_FORCE: Final = "SELECT coalesce(max(version), 0) FROM ai_rules WHERE user_id = %s"
USED: Final = """
    SELECT EXISTS (SELECT FROM ai_rules WHERE user_id = %(user_id)s)
        OR EXISTS (SELECT FROM event_keys WHERE user_id = %(user_id)s)
        OR EXISTS (SELECT FROM documents WHERE user_id = %(user_id)s)
        OR EXISTS (SELECT FROM ai_decisions WHERE user_id = %(user_id)s)
"""
STORE: Final = (
    f"INSERT INTO ai_rules ({', '.join(SETTABLE)}, changed_by)"
    f" VALUES ({', '.join('%s' for _ in SETTABLE)}, %s) RETURNING version"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountWithAi:
    """An account whose AI is on.

    Attributes:
        discloses: it has a text that says so.
        has_uncounted_costs: it has a budget, and this month used a model whose price is unknown.
    """

    user_id: str
    discloses: bool
    has_documents: bool
    has_uncounted_costs: bool


class VersionMoved(RejectedError):
    """A change was made from a version that is no longer in force.

    Attributes:
        in_force: number of the version in force.
    """

    def __init__(self, user_id: str, *, expected: int, in_force: int) -> None:
        super().__init__(f"version: expected {expected} of {user_id} in force, got {in_force}")
        self.in_force = in_force


async def current_account(source: Pool, user_id: str) -> Account:
    """An account's settings in force; version 0, with AI off, for an account without settings."""
    rows = await fetch_dicts(source, NEWEST, (user_id,))
    return account_from_row(rows[0]) if rows else Account(user_id=user_id, version=0)


async def current_versions(source: Pool, user_ids: Collection[str]) -> dict[str, int]:
    """The number of the newest version, by account; accounts without settings are left out."""
    return dict(await fetch_rows(source, VERSIONS, (list(user_ids),)))


async def accounts_with_ai(source: Pool) -> list[AccountWithAi]:
    """The accounts whose AI is on, by name."""
    return await fetch_as(source, AccountWithAi, WITH_AI)


async def is_used(source: Pool, user_id: str) -> bool:
    """Whether anything is stored under this name: settings, decisions or documents."""
    return bool(await fetch_value(source, USED, {"user_id": user_id}))


def account_from_row(row: dict[str, Any]) -> Account:
    """The account of a row that holds its version and ``SETTABLE``."""
    moderators = map(moderator_from_json, row["moderators"])
    return from_row(Account, row | closed_sets(row) | {"moderators": moderators})


def closed_sets(row: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a row with a closed set of values; ``FALLBACKS`` replace unknown values."""
    found = {}
    for name, fallback in FALLBACKS.items():
        if name in row:
            found[name] = _known(type(fallback), row[name]) or fallback
            if found[name] != row[name]:
                user_id, used = row.get("user_id"), found[name]
                log.warning("setting_of_newer_release", setting=name, user_id=user_id, used=used)
    return found


def _known(kind: type[Choice], value: object) -> Choice | None:
    return next((each for each in kind if each == value), None)


def moderator_from_json(stored: Mapping[str, Any]) -> ModeratorChoice:
    """One moderator as a row holds it; a missing part has its default."""
    failure = stored.get("failure")
    return ModeratorChoice(
        name=stored["name"],
        endpoint=stored["endpoint"],
        failure=(_known(FailurePolicy, failure) or STRICT_FAILURE) if failure else None,
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
    A running rollout of the account ends.

    Raises:
        VersionMoved: another version is in force than expected; nothing was stored.
    """
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(SERIALISE, (account.user_id,))
        in_force = await first_value(connection, IN_FORCE, (account.user_id,))
        if expected is not None and in_force != expected:
            raise VersionMoved(account.user_id, expected=expected, in_force=in_force)
        version = await store_version(connection, account, changed_by=changed_by)
        if logged is not None:
            await access_log.append_entry(connection, logged(version))
    return version


async def store_version(connection: Connection, account: Account, *, changed_by: str) -> int:
    """Store the next version, which ends a rollout, in a transaction that has the lock ``SERIALISE``."""
    stored = {name: getattr(account, name) for name in SETTABLE}
    stored["moderators"] = Jsonb([asdict(each) for each in account.moderators])
    shown = [Jsonb(dict(value)) if isinstance(value, Mapping) else value for value in stored.values()]
    shown = [list(value) if isinstance(value, tuple) else value for value in shown]
    version = int(await first_value(connection, STORE, (*shown, changed_by)))
    values = {"user_id": account.user_id, "made_by": changed_by, "version": version}
    for statement in hook_values("on_settings"):
        await connection.execute(statement, values)
    return version


async def recent_messages(source: Pool, user_id: str, limit: int) -> tuple[str, ...]:
    """The newest messages of an account, at most 500 characters of each, as the audit stores them."""
    return tuple(text for (text,) in await fetch_rows(source, RECENT, (user_id, limit)))


async def recent_decisions(source: Pool, user_id: str, limit: int) -> tuple[dict[str, Any], ...]:
    """The newest decisions of an account: id, message, matched rule and high-scoring categories."""
    return tuple(await fetch_dicts(source, RECENT_ROWS, (HIGH_SCORE_PATH, user_id, limit)))
