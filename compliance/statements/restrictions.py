"""Decisions of an account for which statements of reasons may be due, page after page, and their numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from compliance.statements.statement import RestrictedMessage
from db.connection import Connection
from db.rows import all_rows
from worker.reasons import Reason

ROWS: Final = 1000
PAGE: Final = sa.text("""
    SELECT d.id, d.created_at, d.reason_code, d.snapshot_json ->> 'language' AS language,
        d.snapshot_json ->> 'created_at' AS written_at, s.state, s.updated_at
    FROM ai_decisions d LEFT JOIN review_states s ON s.decision_id = d.id
    WHERE d.user_id = :user_id AND d.created_at >= :since AND d.created_at < :until AND d.decision = 'ignore'
        AND d.reason_code = ANY(CAST(:codes AS text[]))
        AND (d.created_at, d.id) > (:after_at, CAST(:after_id AS uuid))
    ORDER BY d.created_at, d.id LIMIT :limit
""")
NUMBERS: Final = sa.text("""
    SELECT reason_code, count(*) AS decisions FROM ai_decisions
    WHERE user_id = :user_id AND created_at >= :since AND created_at < :until AND decision = 'ignore'
    GROUP BY reason_code ORDER BY decisions DESC, reason_code
""")
FIRST: Final = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementPeriod:
    """Decisions of an account from ``since`` until before ``until``."""

    user_id: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RestrictedPage:
    """Messages in the order of their decisions; ``after`` begins the next page, None after the last one."""

    messages: tuple[RestrictedMessage, ...]
    after: tuple[datetime, UUID] | None


async def load_restricted(
    connection: Connection,
    period: StatementPeriod,
    reasons: Collection[Reason],
    after: tuple[datetime, UUID] | None = None,
) -> RestrictedPage:
    """The next page of decisions with one of these reasons; an erased decision has no text."""
    after_at, after_id = after or (period.since, FIRST)
    values = _period(period) | {
        "codes": [each.value for each in reasons],
        "after_at": after_at,
        "after_id": after_id,
        "limit": ROWS,
    }
    rows: Sequence[dict[str, Any]] = await all_rows(connection, PAGE, values)
    last = (rows[-1]["created_at"], rows[-1]["id"]) if len(rows) == ROWS else None
    return RestrictedPage(messages=tuple(_message(row) for row in rows), after=last)


async def count_silent(connection: Connection, period: StatementPeriod) -> dict[str, int]:
    """Decisions without a reply by reason code, the most frequent first; reads the audit of the period."""
    rows = await all_rows(connection, NUMBERS, _period(period))
    return {row["reason_code"]: row["decisions"] for row in rows}


def _period(period: StatementPeriod) -> dict[str, object]:
    return {"user_id": period.user_id, "since": period.since, "until": period.until}


def _message(row: dict[str, Any]) -> RestrictedMessage:
    decided_on = row["created_at"].astimezone(UTC).date()
    state = row["state"]
    return RestrictedMessage(
        puid=str(row["id"]),
        reason=Reason(row["reason_code"]),
        language=row["language"] or "",
        written_on=_written_on(row["written_at"], decided_on),
        decided_on=decided_on,
        lifted_on=row["updated_at"].astimezone(UTC).date() if state == "overturn" else None,
        seen_by_person=state in {"agree", "overturn"},
    )


def _written_on(stored: str, decided_on: date) -> date:
    """When the message was written, not after its decision."""
    return min(decided_on, datetime.fromisoformat(stored).astimezone(UTC).date())
