"""Appeals as people and programs read them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.reviews.rulings import UNDO_WINDOW, Effect
from db.rows import row_as, rows_as
from worker.errors import RejectedError

TEXT_CHARS: Final = 4000
"""Longest appeal, and longest statement of an outcome."""
SOON: Final = timedelta(days=3)
"""An open appeal is due soon when its due date is nearer than this."""
COLUMNS: Final = """id, decision_id, decision_at, user_id, event_id, conversation_id, message_id,
    author_id, scope, source, text, entered_by, created_at, due_at, outcome, statement, decided_by,
    decided_at, review_id, effect, settled_at"""
ONE: Final = sa.text(f"SELECT {COLUMNS} FROM appeals WHERE id = :id")
OF_DECISION: Final = sa.text(f"SELECT {COLUMNS} FROM appeals WHERE decision_id = :decision")
OF_ACCOUNTS: Final = "(CAST(:accounts AS text[]) IS NULL OR user_id = ANY(CAST(:accounts AS text[])))"
OPEN: Final = sa.text(f"""
    SELECT {COLUMNS} FROM appeals
    WHERE outcome IS NULL AND {OF_ACCOUNTS}
        AND (CAST(:place AS uuid) IS NULL OR (due_at, id) > (
            SELECT a.due_at, a.id FROM appeals a WHERE a.id = CAST(:place AS uuid)))
    ORDER BY due_at, id LIMIT :limit
""")
DECIDED: Final = sa.text(f"""
    SELECT {COLUMNS} FROM appeals
    WHERE outcome IS NOT NULL AND {OF_ACCOUNTS}
        AND (CAST(:place AS uuid) IS NULL OR (created_at, id) < (
            SELECT a.created_at, a.id FROM appeals a WHERE a.id = CAST(:place AS uuid)))
    ORDER BY created_at DESC, id DESC LIMIT :limit
""")
FIGURES: Final = sa.text(f"""
    SELECT count(*) AS open, count(*) FILTER (WHERE due_at < :now) AS overdue,
        count(*) FILTER (WHERE due_at >= :now AND due_at < :soon) AS due_soon
    FROM appeals WHERE outcome IS NULL AND {OF_ACCOUNTS}
""")
ON_SOMEWHERE: Final = sa.text(f"""
    SELECT EXISTS (
        SELECT FROM (SELECT DISTINCT ON (user_id) user_id, appeals_enabled FROM ai_rules
                     WHERE {OF_ACCOUNTS} ORDER BY user_id, version DESC) AS newest
        WHERE appeals_enabled)
""")


class AppealSource(StrEnum):
    """How an appeal came in; stored."""

    API = "api"
    LINK = "link"
    PAGE = "page"


class AppealOutcome(StrEnum):
    """What became of the decision; stored, and sent.

    Attributes:
        UPHELD: the decision stands.
        RESTORED: the decision was wrong; the message is back in the history where it was still sealed.
    """

    UPHELD = "upheld"
    RESTORED = "restored"


class AppealState(StrEnum):
    """Whether people must still decide an appeal."""

    OPEN = "open"
    DECIDED = "decided"


class RefusalCode(StrEnum):
    """Why an appeal, or its outcome, is refused; part of the interface, never renamed."""

    APPEALS_OFF = "APPEALS_OFF"
    TOO_LATE = "TOO_LATE"
    UNKNOWN_DECISION = "UNKNOWN_DECISION"
    NOT_APPEALABLE = "NOT_APPEALABLE"
    ALREADY_APPEALED = "ALREADY_APPEALED"
    UNUSABLE_TEXT = "UNUSABLE_TEXT"
    ALREADY_DECIDED = "ALREADY_DECIDED"
    ORIGINAL_REVIEWER = "ORIGINAL_REVIEWER"


class AppealRefused(RejectedError):
    """An appeal, or its outcome, cannot be stored.

    Attributes:
        code: why.
    """

    def __init__(self, code: RefusalCode, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Appeal:
    """A stored appeal.

    Attributes:
        entered_by: login of the person or of the token's owner; empty: the author, by link.
        due_at: until when people should decide it.
        statement: the reasons of the outcome, for the author; None while it is open, as the next four.
        review_id: the review that the outcome stored; None when the decision was gone.
        settled_at: when the outcome was reported, after its undo window.
    """

    id: UUID
    decision_id: UUID
    decision_at: datetime
    user_id: str
    event_id: str
    conversation_id: str
    message_id: str
    author_id: str
    scope: str
    source: AppealSource
    text: str
    entered_by: str
    created_at: datetime
    due_at: datetime
    outcome: AppealOutcome | None
    statement: str | None
    decided_by: str | None
    decided_at: datetime | None
    review_id: UUID | None
    effect: Effect | None
    settled_at: datetime | None

    @property
    def state(self) -> AppealState:
        """Whether people must still decide it."""
        return AppealState.OPEN if self.outcome is None else AppealState.DECIDED

    def is_overdue(self, now: datetime) -> bool:
        """Whether it is open after its due date."""
        return self.outcome is None and self.due_at < now

    def due_soon(self, now: datetime) -> bool:
        """Whether it is open and its due date is near."""
        return self.outcome is None and now <= self.due_at < now + SOON

    def undo_left_s(self, now: datetime) -> int:
        """Whole seconds in which the outcome may be undone."""
        if self.decided_at is None or self.settled_at is not None:
            return 0
        return max(0, round((self.decided_at + UNDO_WINDOW - now).total_seconds()))


@dataclass(frozen=True, slots=True, kw_only=True)
class AppealFigures:
    """Numbers of open appeals."""

    open: int
    overdue: int
    due_soon: int


async def get_appeal(connection: Connection, appeal_id: UUID) -> Appeal | None:
    """An appeal, or None."""
    return await row_as(connection, Appeal, ONE, {"id": appeal_id})


async def appeal_of_decision(connection: Connection, decision_id: UUID) -> Appeal | None:
    """The appeal against a decision, or None."""
    return await row_as(connection, Appeal, OF_DECISION, {"decision": decision_id})


async def list_appeals(
    connection: Connection,
    accounts: tuple[str, ...] | None,
    state: AppealState,
    *,
    limit: int,
    after: UUID | None = None,
) -> tuple[Appeal, ...]:
    """Open appeals, the first due first, or decided ones, newest first; ``after`` is the last of a page."""
    values = {"accounts": _listed(accounts), "place": after, "limit": limit}
    return await rows_as(connection, Appeal, OPEN if state is AppealState.OPEN else DECIDED, values)


async def load_figures(
    connection: Connection, accounts: tuple[str, ...] | None, now: datetime
) -> AppealFigures:
    """Numbers of open appeals of these accounts, or of all."""
    values = {"accounts": _listed(accounts), "now": now, "soon": now + SOON}
    (found,) = await rows_as(connection, AppealFigures, FIGURES, values)
    return found


async def taken_somewhere(connection: Connection, accounts: tuple[str, ...] | None) -> bool:
    """Whether one of these accounts, or any, takes appeals."""
    found = await connection.execute(ON_SOMEWHERE, {"accounts": _listed(accounts)})
    return bool(found.scalar_one())


def checked_text(name: str, text: str) -> str:
    """A text without blanks around it.

    Raises:
        AppealRefused: it is empty, too long or has a NUL.
    """
    found = text.strip().replace("\r\n", "\n")
    if not 0 < len(found) <= TEXT_CHARS or "\0" in found:
        message = f"{name}: expected 1 to {TEXT_CHARS} characters without NUL, got {len(found)}"
        raise AppealRefused(RefusalCode.UNUSABLE_TEXT, message)
    return found


def _listed(accounts: tuple[str, ...] | None) -> list[str] | None:
    return None if accounts is None else list(accounts)
