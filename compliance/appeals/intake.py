"""Taking an appeal against a decision: once for each decision, within the account's time limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from compliance.appeals import records
from compliance.appeals.records import Appeal, AppealRefused, AppealSource, RefusalCode
from db.connection import Connection
from db.identifiers import uuid_at, uuid_time_bounds
from db.rows import first_row, from_row
from db.tables import NOT_ERASED
from worker.model import DecisionKind

SUBJECT: Final = sa.text(f"""
    SELECT d.id, d.created_at, d.user_id, d.decision, d.message_text, r.appeals_enabled, r.appeal_within_days,
        r.appeal_due_days
    FROM ai_decisions d LEFT JOIN LATERAL (
        SELECT appeals_enabled, appeal_within_days, appeal_due_days FROM ai_rules
        WHERE ai_rules.user_id = d.user_id ORDER BY version DESC LIMIT 1) AS r ON true
    WHERE d.created_at BETWEEN :since AND :until AND d.id = :decision AND {NOT_ERASED}
""")
INSERT: Final = sa.text(f"""
    INSERT INTO appeals (id, decision_id, decision_at, user_id, event_id, conversation_id, message_id,
        author_id, scope, source, text, entered_by, created_at, due_at)
    SELECT :id, d.id, d.created_at, d.user_id, d.event_id, d.conversation_id, d.message_id,
        d.author_id, d.scope, :source, :text, :entered_by, :now, :due_at
    FROM ai_decisions d
    WHERE d.created_at BETWEEN :since AND :until AND d.id = :decision AND {NOT_ERASED}
    ON CONFLICT (decision_id) DO NOTHING
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAppeal:
    """An appeal to store."""

    decision_id: UUID
    source: AppealSource
    text: str
    entered_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppealableDecision:
    """A decision and what its account says about appeals now.

    Attributes:
        enabled: the account takes appeals.
        until: from when the account takes no appeal against this decision.
    """

    decision_id: UUID
    decided_at: datetime
    user_id: str
    decision: DecisionKind
    message_text: str
    enabled: bool
    until: datetime
    due_after: timedelta

    def refusal(self, now: datetime) -> AppealRefused | None:
        """Why no appeal is taken now; None when an appeal is possible."""
        if not self.enabled:
            message = f"appeals: expected an account that takes them, got {self.user_id}"
            return AppealRefused(RefusalCode.APPEALS_OFF, message)
        if self.decision is not DecisionKind.IGNORE:
            message = f"decision: expected one without a reply, got {self.decision}"
            return AppealRefused(RefusalCode.NOT_APPEALABLE, message)
        if now > self.until:
            message = f"decision: expected an appeal until {self.until:%Y-%m-%d}, got one on {now:%Y-%m-%d}"
            return AppealRefused(RefusalCode.TOO_LATE, message)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenAppeal:
    """A stored appeal; ``new`` is False when the same appeal was stored before."""

    appeal: Appeal
    new: bool


async def appealable_decision(connection: Connection, decision_id: UUID) -> AppealableDecision:
    """The decision of an appeal.

    Raises:
        AppealRefused: it does not exist, or was erased.
    """
    row = await first_row(connection, SUBJECT, _located(decision_id))
    if row is None:
        message = f"decision: expected the id of a stored one, got {decision_id}"
        raise AppealRefused(RefusalCode.UNKNOWN_DECISION, message)
    within = timedelta(days=row["appeal_within_days"] or 0)
    named = {"decision_id": row["id"], "decided_at": row["created_at"]}
    limits = {"until": row["created_at"] + within, "due_after": timedelta(days=row["appeal_due_days"] or 0)}
    return from_row(AppealableDecision, row | named | limits | {"enabled": bool(row["appeals_enabled"])})


async def take_appeal(connection: Connection, new: NewAppeal, now: datetime) -> TakenAppeal:
    """Store an appeal; one with the same text against the same decision is the same appeal.

    Raises:
        AppealRefused: the account takes none, it is too late, the decision is gone or had a reply, the text
            cannot be used, or another appeal against the decision is stored.
    """
    text = records.checked_text("text", new.text)
    decision = await appealable_decision(connection, new.decision_id)
    if stored := await records.appeal_of_decision(connection, new.decision_id):
        return _same(stored, text)
    if refusal := decision.refusal(now):
        raise refusal
    values = {
        **_located(new.decision_id),
        "id": uuid_at(now),
        "source": new.source.value,
        "text": text,
        "entered_by": new.entered_by,
        "now": now,
        "due_at": now + decision.due_after,
    }
    inserted = (await connection.execute(INSERT, values)).rowcount
    stored = await records.appeal_of_decision(connection, new.decision_id)
    if stored is None:
        raise AppealRefused(
            RefusalCode.UNKNOWN_DECISION, "decision: expected a stored one, got an erased one"
        )
    return TakenAppeal(appeal=stored, new=True) if inserted else _same(stored, text)


def _same(stored: Appeal, text: str) -> TakenAppeal:
    if stored.text != text:
        message = "decision: expected one without an appeal, got one that was appealed before"
        raise AppealRefused(RefusalCode.ALREADY_APPEALED, message)
    return TakenAppeal(appeal=stored, new=False)


def _located(decision_id: UUID) -> dict[str, object]:
    since, until = uuid_time_bounds(decision_id)
    return {"decision": decision_id, "since": since, "until": until}
