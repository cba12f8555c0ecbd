"""Escalations as people and programs read them: one, or a page, oldest first."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from db.connection import Connection
from db.pool import Pool, fetch_as
from db.rows import row_as

SELECT: Final = """
    SELECT decision_id, user_id, event_id, conversation_id, message_id, author_id, scope, reason_code, queue,
        opened_at, closed_at, closed_by, cause
    FROM escalations
"""
ONE: Final = f"{SELECT} WHERE decision_id = %s"
PAGE: Final = f"""{SELECT}
    WHERE (%(after)s::uuid IS NULL OR decision_id > %(after)s::uuid)
        AND (%(accounts)s::text[] IS NULL OR user_id = ANY(%(accounts)s))
        AND (%(queue)s::text IS NULL OR queue = %(queue)s)
        AND (%(reason_code)s::text IS NULL OR reason_code = %(reason_code)s)
        AND (%(conversation_id)s::text IS NULL OR conversation_id = %(conversation_id)s)
        {{state}}
    ORDER BY decision_id LIMIT %(limit)s
"""


class EscalationState(StrEnum):
    """Whether people must still answer."""

    OPEN = "open"
    CLOSED = "closed"


STATES: Final = {
    None: "",
    EscalationState.OPEN: "AND closed_at IS NULL",
    EscalationState.CLOSED: "AND closed_at IS NOT NULL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationFilters:
    """Which escalations; None: all.

    Attributes:
        queue: empty for escalations without a queue.
    """

    accounts: tuple[str, ...] | None = None
    state: EscalationState | None = EscalationState.OPEN
    queue: str | None = None
    reason_code: str | None = None
    conversation_id: str | None = None

    def values(self) -> dict[str, Any]:
        """Parameters of ``PAGE``."""
        return asdict(self) | {"accounts": None if self.accounts is None else list(self.accounts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationRecord:
    """A stored escalation.

    Attributes:
        queue: as the account's settings named it at the decision; empty: none.
        closed_at: None while it is open; then ``closed_by`` and ``cause`` are None too.
        closed_by: an agent's author id, a login, or empty where no person closed it.
        cause: a ``db.escalations.closing.ClosingCause``.
    """

    decision_id: UUID
    user_id: str
    event_id: str
    conversation_id: str
    message_id: str
    author_id: str
    scope: str
    reason_code: str
    queue: str
    opened_at: datetime
    closed_at: datetime | None
    closed_by: str | None
    cause: str | None

    @property
    def state(self) -> EscalationState:
        """Whether it is open."""
        return EscalationState.OPEN if self.closed_at is None else EscalationState.CLOSED


async def load_escalation(connection: Connection, decision_id: UUID) -> EscalationRecord | None:
    """The escalation that a decision opened; None without an escalation."""
    return await row_as(connection, EscalationRecord, ONE, (decision_id,))


async def list_escalations(
    source: Pool, filters: EscalationFilters, *, limit: int, after: UUID | None = None
) -> tuple[EscalationRecord, ...]:
    """A page, oldest first; ``after`` is the decision of the last row of the page before."""
    values = filters.values() | {"after": after, "limit": limit}
    query = PAGE.format(state=STATES[filters.state])
    return tuple(await fetch_as(source, EscalationRecord, query, values))
