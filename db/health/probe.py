"""Whether Postgres can store a decision now: a rolled-back commit on a separate connection."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import psycopg

from db.commits.record import rehearse
from db.connection import Connection
from db.identifiers import uuid_at
from db.pool import WORKER_ROLE, prepare, unavailable
from worker.model import Decision, DecisionKind, Event, Scope

STATEMENT_S: Final = 10
"""Longest wait for a lock."""

CONNECTING: Final[dict[str, Any]] = {
    "autocommit": True,
    "application_name": "hushgate-probe",
    "connect_timeout": 3,
    "tcp_user_timeout": 5000,  # a network that drops packets must not block the probe
}


async def probe(url: str, at: datetime) -> None:
    """Return when a sample decision could be stored; it is rolled back.

    Raises:
        StorageUnavailable: it could not be stored; no event is the cause.
    """
    try:
        async with await Connection.connect(url, **CONNECTING) as connection:
            await prepare(connection, WORKER_ROLE, STATEMENT_S)
            await rehearse(connection, _sample_decision(at))
    except psycopg.Error as error:
        raise unavailable(error) from error


def _sample_decision(at: datetime) -> Decision:
    event = Event(
        event_id="probe",
        entry_id="probe",
        user_id="hushgate probe",
        scope=Scope.CHAT,
        conversation_id="probe",
        message_id="probe",
        author_id="probe",
        text="probe",
        created_at=at,
        received_at=at,
    )
    return Decision(
        decision_id=uuid_at(at),
        decided_at=at,
        event=event,
        kind=DecisionKind.RESPOND,
        reason_code="REPLIED",
        reason="probe",
        confidence=1.0,
        rules_version=1,
        reply="probe",
        remember=True,
    )
