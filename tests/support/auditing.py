"""An audit with something of everything, for tests of lists."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from db.commits.record import record_decision
from db.identifiers import uuid_at
from db.pool import Pool
from tests.support.pools import in_pool
from tests.support.samples import event
from worker.model import (
    Action,
    Assessment,
    Decision,
    DecisionKind,
    Stage,
    StageOutcome,
    StageRecord,
    Tier,
)
from worker.reasons import Reason

NUMBERS = count(1)


def decided(*, at: datetime | None = None, **changes: Any) -> Decision:
    """A decision on an event of its own; names of the event's fields change the event."""
    number, when = next(NUMBERS), at or datetime.now(UTC)
    of_event = {"event_id": f"event-{number}", "entry_id": f"{number}-0", "message_id": f"message-{number}"}
    of_event |= {name: changes.pop(name) for name in list(changes) if name in event().__slots__}
    values: dict[str, Any] = {
        "decision_id": uuid_at(when),
        "decided_at": when,
        "event": event(**of_event),
        "kind": DecisionKind.IGNORE,
        "reason_code": Reason.AI_DISABLED,
        "reason": "off",
        "confidence": 1.0,
        "rules_version": 1,
    }
    return Decision(**values | changes)


def assessed(tier: Tier) -> Assessment:
    """An assessment of this tier."""
    return Assessment(policy="test@1", confidence=0.5, tier=tier, action=Action.SEND)


def staged(stage: Stage, outcome: StageOutcome) -> tuple[StageRecord, ...]:
    """A trace in which one stage ended so and another passed."""
    passed = StageRecord(stage=Stage.SCOPE, outcome=StageOutcome.PASSED, duration_ms=0.1)
    return (passed, StageRecord(stage=stage, outcome=outcome, duration_ms=1.0))


def store(url: str, made: Sequence[Decision]) -> None:
    """Commit decisions as a worker does."""

    async def commit(source: Pool) -> None:
        for each in made:
            await record_decision(source, each)

    in_pool(url, commit)


def reviewed(url: str, decision: Decision, state: str) -> None:
    """Note where a decision stands."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO review_states (decision_id, decision_at, user_id, state, reviews, last_review)"
            " VALUES (%s, %s, %s, %s, 1, %s)",
            (decision.decision_id, decision.decided_at, decision.event.user_id, state, decision.decision_id),
        )


def ago(**age: float) -> datetime:
    """A moment in the past."""
    return datetime.now(UTC) - timedelta(**age)


def queued(url: str, decision: Decision, **columns: Any) -> None:
    """Put a decision into a queue of its own."""
    with psycopg.connect(url) as connection:
        queue_id = uuid_at(datetime.now(UTC))
        connection.execute(
            "INSERT INTO queues (id, name, kind, definition) VALUES (%s, %s, 'hand', %s)",
            (queue_id, str(queue_id), Jsonb({})),
        )
        names = ", ".join(["queue_id", "decision_id", "decision_at", "user_id", *columns])
        values = [queue_id, decision.decision_id, decision.decided_at, decision.event.user_id]
        marks = ", ".join(["%s"] * (len(columns) + 4))
        connection.execute(
            f"INSERT INTO queue_items ({names}) VALUES ({marks})".encode(), [*values, *columns.values()]
        )
