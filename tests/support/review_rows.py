"""Decisions as tests of the review pages want them: whole rows, at a time of the test's choosing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

NUMBERS = count(1)
COLUMNS = (
    "created_at, id, user_id, event_id, message_id, conversation_id, author_id, scope, decision, confidence,"
    " reason_code, reason, matched_rule, message_text, snapshot_json, degraded, rejection_reason"
)


def decided(at: datetime, **changes: Any) -> dict[str, Any]:
    """A decision, 500 ms after its event came, 300 of them at work; ``kept`` changes the snapshot."""
    number = next(NUMBERS)
    kept: dict[str, Any] = changes.pop("kept", {})
    snapshot: dict[str, Any] = {
        "received_at": (at - timedelta(milliseconds=500)).isoformat(),
        "created_at": (at - timedelta(milliseconds=500)).isoformat(),
        "stages": [
            {"stage": "scope", "outcome": "passed", "duration_ms": 100.0, "detail": {}},
            {"stage": "generation", "outcome": "passed", "duration_ms": 200.0, "detail": {}},
        ],
        "attempts": [],
        "tokens": {"prompt": 0, "completion": 0},
        "rechecked": None,
    }
    return (
        {
            "created_at": at,
            "id": UUID(int=(int(at.timestamp() * 1000) << 80) | (7 << 76) | (2 << 62) | number),
            "user_id": "acme",
            "event_id": f"figure-{number}",
            "message_id": f"m-{number}",
            "conversation_id": f"c-{number}",
            "author_id": "a1",
            "scope": "chat",
            "decision": "ignore",
            "confidence": 1.0,
            "reason_code": "AI_DISABLED",
            "reason": "off",
            "matched_rule": None,
            "message_text": "When are you open?",
            "degraded": False,
            "rejection_reason": None,
        }
        | {"snapshot_json": Jsonb(snapshot | kept)}
        | changes
    )


def store(url: str, rows: Iterable[dict[str, Any]]) -> None:
    """Put decisions into the audit as its owner, with the partitions they need."""
    rows = list(rows)
    with psycopg.connect(url) as connection:
        for month in {row["created_at"].date().replace(day=1) for row in rows}:
            connection.execute("SELECT hushgate_ensure_partitions(%s, 0)", (month,))
        values = ", ".join(f"%({name})s" for name in COLUMNS.split(", "))
        connection.cursor().executemany(f"INSERT INTO ai_decisions ({COLUMNS}) VALUES ({values})", rows)


def rate(url: str, rows: Iterable[dict[str, Any]], *, wrong: bool = True, marks: int = 1) -> None:
    """Let a customer of its own rate the reply of each decision, ``marks`` times, the newest first."""
    with psycopg.connect(url) as connection:
        connection.cursor().executemany(
            """INSERT INTO customer_feedback (
                id, decision_id, decision_at, user_id, conversation_id, message_id, author_id, thumb, wrong,
                rated_at, created_at, joined_at)
            SELECT gen_random_uuid(), %(id)s, %(created_at)s, %(user_id)s, %(conversation_id)s,
                %(message_id)s, %(message_id)s, %(thumb)s, %(wrong)s,
                %(created_at)s - number * interval '1 s', %(created_at)s, %(created_at)s
            FROM generate_series(1, %(marks)s) AS number""",
            [row | {"thumb": "down" if wrong else "up", "wrong": wrong, "marks": marks} for row in rows],
        )
