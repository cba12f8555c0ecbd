"""Decisions in the audit, without an engine: what tests of the review pages read and rule on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import psycopg
from psycopg.rows import dict_row

from db.history.conversations import PostgresConversations
from tests.support.auditing import decided, store
from tests.support.pools import in_pool
from worker.model import Decision, DecisionKind
from worker.reasons import Reason

NUMBERS = count(1)
NOW = datetime.now(UTC)


def ignored(**changes: Any) -> Decision:
    """A silent ignore for want of confidence, on an event of its own; ``changes`` may name its fields."""
    number = next(NUMBERS)
    values: dict[str, Any] = {
        "at": NOW - timedelta(minutes=5) + timedelta(milliseconds=number),
        "message_id": f"m-{number}",
        "conversation_id": f"c-{number}",
        "reason_code": Reason.LOW_CONFIDENCE,
        "reason": "not sure enough",
        "confidence": 0.3,
        "remember": True,
    }
    return decided(**values | changes)


def blocked(**changes: Any) -> Decision:
    """A message that a rule stopped; its exchange is sealed."""
    values = {"reason_code": Reason.FLAGGED_RULE, "matched_rule": "flagged_keyword:spam", "confidence": 0.95}
    return ignored(**values | {"remember": False, "quarantine": True, "text": "is this spam?"} | changes)


def replied(**changes: Any) -> Decision:
    """A message that got a reply."""
    values = {"kind": DecisionKind.RESPOND, "reason_code": Reason.REPLIED, "reply": "From nine to six."}
    return ignored(**values | changes)


def escalated(**changes: Any) -> Decision:
    """A message that waits for a person."""
    return ignored(kind=DecisionKind.ESCALATE, reason_code=Reason.MODEL_ESCALATED, **changes)


def record(url: str, *made: Decision) -> None:
    """Commit decisions as a worker does."""
    store(url, made)


def rows(url: str, query: str, *values: object) -> list[dict[str, Any]]:
    """Rows of a query, with every right."""
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        found = connection.execute(query, values)
        return found.fetchall() if found.description else []


def history(url: str, conversation_id: str) -> list[tuple[str, str]]:
    """What a prompt of this conversation would remember, oldest first."""
    lines = in_pool(url, lambda source: PostgresConversations(source).history("acme", conversation_id, 20))
    return [(line.role, line.text) for line in lines]
