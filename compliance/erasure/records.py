"""Requests to erase an author, a conversation or an account: stored, confirmed, cancelled, listed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from compliance.tables import ErasurePhase
from db.access_log import LogEntry, change_logged
from db.identifiers import uuid_at
from db.pool import Pool, fetch_as, fetch_one_as, fetch_value

COLUMNS: Final = (
    "id, user_id, kind, subject, salt, subject_hash, reason, requested_by, requested_at, preview,"
    " confirmed_at, confirmed_by, started_at, until_entry, phase, erased, finished_at, held, receipt,"
    " signature"
)
HELD: Final = """
    SELECT EXISTS (SELECT FROM legal_holds WHERE user_id = %(user_id)s AND kind = %(kind)s
        AND subject = %(subject)s AND released_at IS NULL AND (until IS NULL OR until > now()))
"""
REQUEST: Final = f"""
    SELECT {COLUMNS} FROM hushgate_request_erasure(
        %(id)s, %(user_id)s, %(kind)s, %(subject)s, %(reason)s, %(requested_by)s)
"""
CONFIRM: Final = f"SELECT {COLUMNS} FROM hushgate_confirm_erasure(%(id)s, %(by)s)"
CANCEL: Final = f"SELECT {COLUMNS} FROM hushgate_cancel_erasure(%(id)s)"
GET: Final = f"SELECT {COLUMNS} FROM erasures WHERE id = %(id)s"
LIST: Final = f"""
    SELECT {COLUMNS} FROM erasures WHERE %(accounts)s::text[] IS NULL OR user_id = ANY(%(accounts)s)
    ORDER BY requested_at DESC, id DESC LIMIT %(limit)s
"""


class ErasureKind(StrEnum):
    """What is erased; stored, never renamed."""

    AUTHOR = "author"
    CONVERSATION = "conversation"
    ACCOUNT = "account"


class ErasureHeld(Exception):
    """A legal hold is on exactly what should be erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """A request and what became of it.

    Attributes:
        subject: the id that is erased; None once the job has ended.
        subject_hash: SHA-256 of salt and subject, to recognise who was erased without naming them.
        preview: rows by table and entries by stream, and ``held``; None until a worker has counted them.
        started_at: what was published until then is erased; later messages are new.
        erased: rows by table and entries by stream so far.
        held: decisions that a legal hold kept; None until it has ended.
    """

    id: UUID
    user_id: str
    kind: str
    subject: str | None
    salt: bytes
    subject_hash: str
    reason: str
    requested_by: str
    requested_at: datetime
    preview: Mapping[str, int] | None
    confirmed_at: datetime | None
    confirmed_by: str | None
    started_at: datetime | None
    until_entry: str | None
    phase: str
    erased: Mapping[str, int]
    finished_at: datetime | None
    held: int | None
    receipt: Mapping[str, Any] | None
    signature: str | None

    @property
    def may_be_confirmed(self) -> bool:
        """Whether a person may confirm the request, which is counted, and of which nothing is erased yet."""
        return self.phase == ErasurePhase.PREVIEWED and self.confirmed_at is None

    @property
    def may_be_cancelled(self) -> bool:
        """Whether nothing was erased yet."""
        return self.confirmed_at is None and self.finished_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewErasure:
    """A request; ``subject`` of an account is the account."""

    user_id: str
    kind: ErasureKind
    subject: str
    reason: str
    requested_by: str


def hash_subject(salt: bytes, subject: str) -> str:
    """The hash of a subject, in hex."""
    return hashlib.sha256(salt + subject.encode()).hexdigest()


async def add_erasure(source: Pool, new: NewErasure, now: datetime, *, logged: LogEntry) -> Erasure:
    """Store a request; nothing is erased before its confirmation.

    Raises:
        ErasureHeld: a legal hold is on exactly this author or conversation.
    """
    values = asdict(new) | {"id": uuid_at(now)}
    if await fetch_value(source, HELD, values):
        raise ErasureHeld
    stored = await change_logged(source, Erasure, REQUEST, values, logged)
    assert stored is not None  # it inserts a row or raises
    return stored


async def confirm_erasure(source: Pool, erasure_id: UUID, by: str, *, logged: LogEntry) -> Erasure | None:
    """Let a worker begin; None for a request that is not counted yet, is confirmed already, or has ended."""
    return await change_logged(source, Erasure, CONFIRM, {"id": erasure_id, "by": by}, logged)


async def cancel_erasure(source: Pool, erasure_id: UUID, *, logged: LogEntry) -> Erasure | None:
    """Cancel a request that is not confirmed; None for a confirmed or ended request."""
    return await change_logged(source, Erasure, CANCEL, {"id": erasure_id}, logged)


async def get_erasure(source: Pool, erasure_id: UUID) -> Erasure | None:
    """A request, or None."""
    return await fetch_one_as(source, Erasure, GET, {"id": erasure_id})


async def list_erasures(
    source: Pool, accounts: Sequence[str] | None, *, limit: int = 50
) -> Sequence[Erasure]:
    """Requests of these accounts, or of all, newest first."""
    values = {"accounts": None if accounts is None else list(accounts), "limit": limit}
    return await fetch_as(source, Erasure, LIST, values)
