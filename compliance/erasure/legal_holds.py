"""Legal holds: what no sweep and no erasure may delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from db.access_log import LogEntry, change_logged
from db.identifiers import parsed_id, uuid_at, uuid_time_bounds
from db.pool import Pool, fetch_as, fetch_one_as, fetch_value
from worker.payload import ID_BYTES

COLUMNS: Final = "id, user_id, kind, subject, reason, placed_by, placed_at, until, released_at, released_by"
INSERT: Final = f"""
    INSERT INTO legal_holds (id, user_id, kind, subject, reason, placed_by, placed_at, until)
    VALUES (%(id)s, %(user_id)s, %(kind)s, %(subject)s, %(reason)s, %(placed_by)s, %(now)s, %(until)s)
    RETURNING {COLUMNS}
"""
RELEASE: Final = f"""
    UPDATE legal_holds SET released_at = %(now)s, released_by = %(by)s
    WHERE id = %(id)s AND released_at IS NULL RETURNING {COLUMNS}
"""
LIST: Final = f"""
    SELECT {COLUMNS} FROM legal_holds
    WHERE (%(accounts)s::text[] IS NULL OR user_id = ANY(%(accounts)s))
        AND (%(ended)s OR released_at IS NULL AND (until IS NULL OR until > now()))
    ORDER BY placed_at DESC, id DESC LIMIT %(limit)s
"""
GET: Final = f"SELECT {COLUMNS} FROM legal_holds WHERE id = %s"
COVERED: Final = {
    "decision": "id = %(id)s AND created_at BETWEEN %(first)s AND %(last)s",
    "conversation": "conversation_id = %(subject)s",
    "author": "author_id = %(subject)s",
}
MOST_COUNTED: Final = 10_000
REASON_CHARS: Final = 500
SUBJECT_CHARS: Final = ID_BYTES


class HoldKind(StrEnum):
    """What a hold covers; stored, never renamed."""

    DECISION = "decision"
    CONVERSATION = "conversation"
    AUTHOR = "author"


@dataclass(frozen=True, slots=True, kw_only=True)
class LegalHold:
    """A hold on one account; ``until`` None: until a person releases it."""

    id: UUID
    user_id: str
    kind: str
    subject: str
    reason: str
    placed_by: str
    placed_at: datetime
    until: datetime | None
    released_at: datetime | None
    released_by: str | None

    def in_force(self, now: datetime) -> bool:
        """Whether it keeps rows now."""
        return self.released_at is None and (self.until is None or self.until > now)


class HoldRefused(Exception):
    """A hold cannot cover the subject; the text says what was expected and what came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedHold:
    """A new hold; ``decisions`` is how many it covers now, ``MOST_COUNTED`` at most."""

    hold: LegalHold
    decisions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewHold:
    """A hold to place; see ``LegalHold``. Of ``subject``, blanks around it do not count."""

    user_id: str
    kind: HoldKind
    subject: str
    reason: str
    placed_by: str
    until: datetime | None = None


def placed_detail(new: NewHold) -> dict[str, str | None]:
    """What the access log says about a new hold."""
    return {"placed": new.kind.value, "until": None if new.until is None else new.until.isoformat()}


async def place_hold(source: Pool, new: NewHold, now: datetime, *, logged: LogEntry) -> PlacedHold:
    """Place a hold with its line of the access log, in one transaction.

    Raises:
        HoldRefused: the subject is empty, too long, or not the id of a decision of the account.
    """
    subject = _subject(new)
    decisions = await _covered(source, new, subject)
    if new.kind is HoldKind.DECISION and not decisions:
        raise HoldRefused(f"subject: expected the id of a decision of {new.user_id}, got {subject}")
    values = asdict(new) | {"id": uuid_at(now), "subject": subject, "now": now}
    placed = await change_logged(source, LegalHold, INSERT, values, logged)
    assert placed is not None  # INSERT ... RETURNING gives a row or raises
    return PlacedHold(hold=placed, decisions=decisions)


async def release_hold(
    source: Pool, hold_id: UUID, by: str, now: datetime, *, logged: LogEntry
) -> LegalHold | None:
    """Release a hold; None for an unknown or released hold."""
    return await change_logged(source, LegalHold, RELEASE, {"id": hold_id, "by": by, "now": now}, logged)


async def get_hold(source: Pool, hold_id: UUID) -> LegalHold | None:
    """A hold, or None."""
    return await fetch_one_as(source, LegalHold, GET, (hold_id,))


async def list_holds(
    source: Pool, accounts: Sequence[str] | None, *, limit: int = 200, with_ended: bool = False
) -> Sequence[LegalHold]:
    """Holds of these accounts, or of all, newest first."""
    named = None if accounts is None else list(accounts)
    values = {"accounts": named, "ended": with_ended, "limit": limit}
    return await fetch_as(source, LegalHold, LIST, values)


def _subject(new: NewHold) -> str:
    """The subject as rows have it."""
    subject = new.subject.strip()
    if not 0 < len(subject) <= SUBJECT_CHARS:
        raise HoldRefused(f"subject: expected 1 to {SUBJECT_CHARS} characters, got {len(subject)}")
    if new.kind is not HoldKind.DECISION:
        return subject
    if (found := parsed_id(subject)) is None:
        raise HoldRefused(f"subject: expected the id of a decision, got {subject[:40]!r}")
    return str(found)


async def _covered(source: Pool, new: NewHold, subject: str) -> int:
    values: dict[str, Any] = {"user_id": new.user_id, "subject": subject, "most": MOST_COUNTED}
    if new.kind is HoldKind.DECISION:
        first, last = uuid_time_bounds(UUID(subject))
        values |= {"id": UUID(subject), "first": first, "last": last}
    found = f"SELECT FROM ai_decisions WHERE user_id = %(user_id)s AND {COVERED[new.kind]} LIMIT %(most)s"
    return int(await fetch_value(source, f"SELECT count(*) FROM ({found}) AS found", values))
