"""How far backtests and shadows are: the next decisions, and what was found, stored with the position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from db.identifiers import uuid_at
from db.pool import Pool, checkout, fetch_rows
from db.rows import first_value
from trials.pure.trial import Trial, TrialState
from trials.store.differences import ADD_TO_QUEUES, TrialDifference

NEXT: Final = """
    SELECT created_at, id FROM ai_decisions
    WHERE user_id = %(user_id)s AND created_at >= %(reached_at)s
        AND (created_at, id) > (%(reached_at)s, %(reached_id)s) AND created_at < %(before)s
    ORDER BY created_at, id LIMIT %(most)s
"""
NEWEST: Final = """
    SELECT id FROM ai_decisions WHERE user_id = %s AND created_at >= %s AND created_at < %s
    ORDER BY created_at DESC, id DESC LIMIT %s
"""
SPENT: Final = """
    SELECT coalesce(sum(day_decisions), 0), coalesce(sum(day_usd), 0) FROM trials
    WHERE user_id = %s AND kind = 'shadow' AND day = %s
"""
MOVE: Final = """
    UPDATE trials SET reached_at = %(to_at)s, reached_id = %(to_id)s, counts = %(counts)s, done = %(done)s,
        examples = %(examples)s, day = %(day)s, day_decisions = %(day_decisions)s, day_usd = %(day_usd)s,
        usd = usd + %(usd)s
    WHERE id = %(id)s AND state = 'running' AND reached_at = %(from_at)s AND reached_id = %(from_id)s
    RETURNING id
"""
END: Final = """
    UPDATE trials SET state = 'finished', stepped_at = %s WHERE id = %s AND state = 'running' RETURNING id
"""
STORE: Final = """
    INSERT INTO shadow_results (id, shadow_id, decision_id, candidate_id, user_id, conversation_id, author_id,
        decision_at, kind, before_code, decision, reason_code, reason, matched_rule, reply)
    SELECT f.id, %(shadow)s, r.decision_id, %(candidate_id)s, r.user_id, r.conversation_id, r.author_id,
        r.created_at, f.kind, f.before_code, f.decision, f.reason_code, f.reason, f.matched_rule, f.reply
    FROM jsonb_to_recordset(%(found)s) AS f (id uuid, decision_id uuid, kind text, before_code text,
        decision text, reason_code text, reason text, matched_rule text, reply text)
    JOIN recordings r ON r.decision_id = f.decision_id AND r.user_id = %(user_id)s
    ON CONFLICT (decision_id, shadow_id) DO NOTHING
"""
"""Stores nothing of a decision whose recording was erased meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPosition:
    """Where a trial is: the last decision that it looked at, by time and id."""

    at: datetime
    decision_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialProgress:
    """What a trial did with the decisions up to a position.

    Attributes:
        counts: group -> decisions, to be added.
        seen: decisions that were looked at.
        decided: decisions of a shadow that count for the budget of the day.
        differences: to be stored; their texts are sealed.
        examples: to be stored in place of the known ones; None: these stay.
    """

    to: TrialPosition
    counts: Mapping[str, float]
    seen: int = 0
    decided: int = 0
    usd: float = 0.0
    differences: Sequence[TrialDifference] = ()
    examples: Sequence[Mapping[str, Any]] | None = None


async def next_decisions(
    source: Pool, trial: Trial, *, before: datetime, most: int
) -> tuple[TrialPosition, ...]:
    """The next decisions of the account that were made ``before``, the oldest first."""
    values = {
        "user_id": trial.user_id,
        "reached_at": trial.reached_at,
        "reached_id": trial.reached_id,
        "before": before,
        "most": most,
    }
    return tuple(
        TrialPosition(at=at, decision_id=each) for at, each in await fetch_rows(source, NEXT, values)
    )


async def newest_decisions(
    source: Pool, user_id: str, *, since: datetime, until: datetime, most: int
) -> tuple[UUID, ...]:
    """The newest decisions of an account in a range."""
    return tuple(row[0] for row in await fetch_rows(source, NEWEST, (user_id, since, until, most)))


async def spent_today(source: Pool, user_id: str, day: date) -> tuple[int, float]:
    """Decisions and US dollars of all shadows of an account on a day."""
    ((decisions, usd),) = await fetch_rows(source, SPENT, (user_id, day))
    return int(decisions), float(usd)


def advanced(trial: Trial, done: TrialProgress, day: date) -> Trial:
    """The trial with what was done; ``day`` is today in UTC."""
    same_day, groups = trial.day == day, trial.counts.keys() | done.counts.keys()
    return replace(
        trial,
        reached_at=done.to.at,
        reached_id=done.to.decision_id,
        done=trial.done + done.seen,
        counts={each: trial.counts.get(each, 0) + done.counts.get(each, 0) for each in groups},
        examples=trial.examples if done.examples is None else done.examples,
        day=day,
        day_decisions=(trial.day_decisions if same_day else 0) + done.decided,
        day_usd=(trial.day_usd if same_day else 0.0) + done.usd,
        usd=trial.usd + done.usd,
    )


async def store_progress(source: Pool, trial: Trial, done: TrialProgress, day: date) -> Trial | None:
    """The trial at its new position, with its differences; None when another process stopped or moved it."""
    moved = advanced(trial, done, day)
    values: dict[str, Any] = {
        "id": trial.trial_id,
        "from_at": trial.reached_at,
        "from_id": trial.reached_id,
        "to_at": moved.reached_at,
        "to_id": moved.reached_id,
        "counts": Jsonb(moved.counts),
        "examples": Jsonb(list(moved.examples)),
        "usd": done.usd,
    }
    values |= {name: getattr(moved, name) for name in ("done", "day", "day_decisions", "day_usd")}
    async with checkout(source) as connection, connection.transaction():
        if await first_value(connection, MOVE, values) is None:
            return None
        if done.differences:
            await connection.execute(STORE, _difference_values(trial, done))
            ids = [each.decision_id for each in done.differences]
            await connection.execute(ADD_TO_QUEUES, {"shadow": trial.trial_id, "ids": ids})
    return moved


async def finish_trial(source: Pool, trial: Trial, now: datetime) -> Trial:
    """The trial, ended as all its decisions are looked at."""
    await fetch_rows(source, END, (now, trial.trial_id))
    return replace(trial, state=TrialState.FINISHED, stepped_at=now)


def _difference_values(trial: Trial, done: TrialProgress) -> dict[str, Any]:
    rows = [
        asdict(each) | {"id": str(uuid_at(done.to.at)), "decision_id": str(each.decision_id)}
        for each in done.differences
    ]
    about = {"shadow": trial.trial_id, "candidate_id": trial.candidate_id, "user_id": trial.user_id}
    return about | {"found": Jsonb(rows)}
