"""The settings version that a decision used, and the version in force."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from db.account_settings.accounts import closed_sets, moderator_from_json
from db.audit.decision_context import DecisionRow
from db.connection import Connection
from db.rows import Row, all_rows, from_row
from worker.model import Combination, FailurePolicy, ModeratorChoice
from worker.snapshot import Snapshot

_ROW: Final = """
    SELECT version, changed_by, changed_at, moderation_thresholds, moderation_failure, hold_max_s,
        moderators, moderation_combination, reply_max_age_s, assessment_policy,
        fallback_texts <> '{}'::jsonb AS has_fallback_texts, rules_on_reply, languages,
        cardinality(flagged_keywords) AS keywords, cardinality(flagged_phrases) AS phrases,
        cardinality(allowed) AS allowed,
        CAST(:word AS text) = ANY(flagged_keywords || flagged_phrases) AS has_rule
    FROM ai_rules WHERE user_id = :user_id
"""
_BOTH: Final = sa.text(f"({_ROW} AND version = :version) UNION ALL ({_ROW} ORDER BY version DESC LIMIT 1)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsVersion:
    """One version of an account's settings, with the lengths of its lists.

    Attributes:
        has_rule: the word or phrase of the matched rule is in it.
    """

    version: int
    changed_by: str
    changed_at: datetime
    moderation_thresholds: dict[str, float]
    moderation_failure: FailurePolicy
    hold_max_s: float
    moderators: tuple[ModeratorChoice, ...]
    moderation_combination: Combination
    reply_max_age_s: float
    assessment_policy: dict[str, Any]
    has_fallback_texts: bool
    rules_on_reply: bool
    languages: tuple[str, ...]
    keywords: int
    phrases: int
    allowed: int
    has_rule: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSnapshot:
    """The version a decision used, and the newest one.

    Attributes:
        used: None when the account had no settings, or that version is no longer stored.
    """

    used: SettingsVersion | None
    now: SettingsVersion | None

    def changed(self) -> tuple[str, ...]:
        """Names of the settings whose values differ now."""
        if self.used is None or self.now is None:
            return ()
        ignored = ("version", "changed_by", "changed_at", "has_rule")
        names = [name for name in SettingsVersion.__slots__ if name not in ignored]
        return tuple(name for name in names if getattr(self.used, name) != getattr(self.now, name))


async def settings_of_decision(
    connection: Connection, row: DecisionRow, snapshot: Snapshot
) -> SettingsSnapshot:
    """The settings version that a decision used, and the one in force."""
    kind, _, word = (row["matched_rule"] or "").partition(":")
    version, word = snapshot.rules_version, word if kind.startswith("flagged_") else None
    values = {"user_id": row["user_id"], "version": version, "word": word}
    found = [_version(row) for row in await all_rows(connection, _BOTH, values)]
    used = next((each for each in found if each.version == version), None)
    return SettingsSnapshot(used=used, now=found[-1] if found else None)


def _version(row: Row) -> SettingsVersion:
    typed = {
        "moderators": tuple(moderator_from_json(each) for each in row["moderators"]),
        "has_rule": bool(row["has_rule"]),
    }
    return from_row(SettingsVersion, row | closed_sets(row) | typed)
