"""Candidates: changes of an account's settings that are not in force."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from db.access_log import LogEntry, LoggedAction, change_logged
from db.account_settings.account_versions import get_version
from db.account_settings.accounts import current_account
from db.identifiers import uuid_at
from db.pool import Pool, fetch_as, fetch_one_as
from worker.account_settings import RULES, AccountRejected, changed, rule_problems
from worker.errors import RejectedError
from worker.model import Account
from worker.rules import ProblemLevel

COLUMNS: Final = (
    "id AS candidate_id, user_id, base_version, changes, note, source, created_by, created_at, withdrawn_at"
)
INSERT: Final = f"""
    INSERT INTO candidates (id, user_id, base_version, changes, note, source, created_by, created_at)
    VALUES (%(id)s, %(user_id)s, %(base_version)s, %(changes)s, %(note)s, %(source)s, %(created_by)s, %(now)s)
    RETURNING {COLUMNS}
"""
GET: Final = f"SELECT {COLUMNS} FROM candidates WHERE id = %s"
LIST: Final = f"SELECT {COLUMNS} FROM candidates WHERE user_id = %s ORDER BY id DESC LIMIT %s"
WITHDRAW: Final = f"""
    UPDATE candidates SET withdrawn_at = %s WHERE id = %s AND withdrawn_at IS NULL RETURNING {COLUMNS}
"""
NOTE_CHARS: Final = 1000
REASON_CHARS: Final = 500


class CandidateSource(StrEnum):
    """Who made a candidate; stored, never renamed."""

    PERSON = "person"
    CALIBRATION = "calibration"
    SUGGESTION = "suggestion"


class TrialRefused(RejectedError):
    """A trial that cannot be started or stopped, or a step of it that cannot be taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who starts, changes or stops a trial, when and why.

    Attributes:
        entry: begins the line of the access log.
        automatic: the engine does it, without such a line.
    """

    made_by: str
    now: datetime
    reason: str = ""
    entry: LogEntry | None = None
    automatic: bool = False

    def check_reason(self) -> None:
        """Raises TrialRefused for a reason that is empty or too long."""
        if not 0 < len(self.reason.strip()) <= REASON_CHARS:
            raise TrialRefused(f"reason: expected 1 to {REASON_CHARS} characters, got {len(self.reason)}")

    def logged(self, user_id: str, detail: Mapping[str, Any]) -> LogEntry:
        """The line of the access log."""
        begun = self.entry or LogEntry(action=LoggedAction.SETTINGS, person=self.made_by)
        why = {"reason": self.reason} if self.reason else {}
        return replace(begun, user_id=user_id, detail={**detail, **why})


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedSettings:
    """What a trial tries: changes of an account's settings, of a candidate or typed.

    Attributes:
        base_version: of the settings that the changes were made from.
    """

    user_id: str
    base_version: int
    changes: Mapping[str, Any]
    candidate_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsCandidate:
    """Changes of one account's settings that are not in force.

    Attributes:
        base_version: version of the settings that they were made from.
        changes: setting -> value, as ``worker.account_settings.changed`` takes it.
        withdrawn_at: when a person withdrew it; None: it may be tried.
    """

    candidate_id: UUID
    user_id: str
    base_version: int
    changes: Mapping[str, Any]
    note: str
    source: str
    created_by: str
    created_at: datetime
    withdrawn_at: datetime | None = None

    @property
    def tried(self) -> TriedSettings:
        """What a trial of it tries."""
        names = ("user_id", "base_version", "changes", "candidate_id")
        return TriedSettings(**{name: getattr(self, name) for name in names})


async def add_candidate(
    source: Pool,
    user_id: str,
    changes: Mapping[str, Any],
    *,
    now: datetime,
    made_by: CandidateSource,
    created_by: str,
    note: str = "",
    logged: LogEntry | None = None,
) -> SettingsCandidate:
    """Store changes of the settings in force as a candidate.

    Raises:
        AccountRejected: they change nothing, or cannot be used; every problem with its field.
    """
    base = await current_account(source, user_id)
    await asyncio.to_thread(checked_account, base, changes)
    values = {
        "id": uuid_at(now),
        "user_id": user_id,
        "base_version": base.version,
        "changes": Jsonb(dict(changes)),
        "note": note[:NOTE_CHARS],
        "source": made_by.value,
        "created_by": created_by,
        "now": now,
    }
    stored = await change_logged(source, SettingsCandidate, INSERT, values, logged)
    assert stored is not None  # INSERT ... RETURNING gives a row or raises
    return stored


def checked_account(base: Account, changes: Mapping[str, Any]) -> Account:
    """The account with the changes; rules are compiled where they change.

    Raises:
        AccountRejected: the changes change nothing, or a setting or rule cannot be used.
    """
    account = changed(base, changes)
    if account == base:
        raise AccountRejected(
            [("changes", "expected a setting that differs from the one in force, got none")]
        )
    if changes.keys() & set(RULES):
        problems = [each for each in rule_problems(account) if each.level is ProblemLevel.ERROR]
        if problems:
            raise AccountRejected([(f"rule {each.rule!r}", each.message) for each in problems])
    return account


async def startable_candidate(source: Pool, candidate_id: UUID) -> SettingsCandidate:
    """A candidate that a trial may begin to decide with.

    Raises:
        TrialRefused: there is none, or it is withdrawn.
        AccountRejected: it cannot be used with the settings in force.
    """
    candidate = await get_candidate(source, candidate_id)
    if candidate is None:
        raise TrialRefused(f"candidate: expected the id of one, got {candidate_id}")
    if candidate.withdrawn_at is not None:
        raise TrialRefused(f"candidate: expected one that is not withdrawn, got {candidate_id}")
    checked_account(await current_account(source, candidate.user_id), candidate.changes)
    return candidate


async def get_candidate(source: Pool, candidate_id: UUID) -> SettingsCandidate | None:
    """A candidate, or None."""
    return await fetch_one_as(source, SettingsCandidate, GET, (candidate_id,))


async def list_candidates(source: Pool, user_id: str, *, limit: int = 50) -> tuple[SettingsCandidate, ...]:
    """The candidates of an account, the newest first."""
    return tuple(await fetch_as(source, SettingsCandidate, LIST, (user_id, limit)))


async def withdraw_candidate(
    source: Pool, candidate_id: UUID, now: datetime, *, logged: LogEntry | None = None
) -> SettingsCandidate | None:
    """Withdraw a candidate; None for an unknown candidate, or one that was withdrawn before."""
    return await change_logged(source, SettingsCandidate, WITHDRAW, (now, candidate_id), logged)


async def changed_account(
    source: Pool, user_id: str, base_version: int, changes: Mapping[str, Any]
) -> Account:
    """The account with changes on the version that they were made from.

    Raises:
        AccountRejected: this release cannot use the changes any more, or the version is not stored.
    """
    return changed(await base_account(source, user_id, base_version), changes)


async def base_account(source: Pool, user_id: str, version: int) -> Account:
    """The account of a stored version; version 0 is an account without settings.

    Raises:
        AccountRejected: the version is not stored.
    """
    if not version:
        return Account(user_id=user_id, version=0)
    found = await get_version(source, user_id, version)
    if found is None:
        raise AccountRejected([("base_version", f"expected a stored version of the settings, got {version}")])
    return found.account


async def candidate_account(source: Pool, candidate: SettingsCandidate) -> Account:
    """The account as the candidate wants it; see ``changed_account``."""
    return await changed_account(source, candidate.user_id, candidate.base_version, candidate.changes)
