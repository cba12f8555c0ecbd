"""Shadows: candidates that decide every new event of their account again, without acting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from db.access_log import LogEntry, append_entry
from db.account_settings.accounts import SERIALISE
from db.identifiers import uuid_at
from db.pool import Pool, checkout, fetch_dicts, fetch_rows
from trials.store.candidates import REASON_CHARS, Author, TrialRefused, startable_candidate

MOST_RUNNING: Final = 3
"""Shadows of one account at a time."""
MOST_USD: Final = 1000.0
RUNNER: Final = "hushgate"
"""Who ends a shadow that is switched off."""
FIRST_ID: Final = UUID(int=0)
COLUMNS: Final = (
    "id AS shadow_id, user_id, candidate_id, state, started_by, reason, started_at, usd_a_day, reached_at,"
    " reached_id, counts, day, day_decisions, day_usd, usd, ended_at, ended_by, ended_why"
)
INSERT: Final = f"""
    INSERT INTO shadows (id, user_id, candidate_id, started_by, reason, started_at, usd_a_day, reached_at,
        reached_id, day)
    VALUES (%(id)s, %(user_id)s, %(candidate_id)s, %(made_by)s, %(reason)s, %(now)s, %(usd_a_day)s, %(now)s,
        %(first)s, (%(now)s AT TIME ZONE 'UTC')::date)
    RETURNING {COLUMNS}
"""
NUMBER: Final = "SELECT count(*) FROM shadows WHERE user_id = %s AND state = 'running'"
GET: Final = f"SELECT {COLUMNS} FROM shadows WHERE id = %s"
LIST: Final = f"SELECT {COLUMNS} FROM shadows WHERE user_id = %s ORDER BY id DESC LIMIT %s"
RUNNING: Final = f"""
    SELECT s.*, c.changes, c.withdrawn_at IS NOT NULL AS withdrawn
    FROM (SELECT {COLUMNS} FROM shadows WHERE state = 'running') AS s
    JOIN candidates c ON c.id = s.candidate_id
    ORDER BY s.reached_at
"""
END: Final = f"""
    UPDATE shadows SET state = %(state)s, ended_at = %(now)s, ended_by = %(made_by)s, ended_why = %(reason)s
    WHERE id = %(id)s AND state = 'running' RETURNING {COLUMNS}
"""


class ShadowState(StrEnum):
    """Where a shadow is; stored, never renamed. ``FAILED``: it was switched off."""

    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """A candidate that decides beside the live settings.

    Attributes:
        usd_a_day: for answers that recordings lack, a day in UTC; 0: nothing is asked.
        reached_at: time of the last decision that it has looked at; ``reached_id`` is its id.
        counts: group -> decisions; see ``trials.jobs.batch``.
        day: of ``day_decisions`` and ``day_usd``.
        ended_why: why it was stopped or switched off.
    """

    shadow_id: UUID
    user_id: str
    candidate_id: UUID
    state: str
    started_by: str
    reason: str
    started_at: datetime
    usd_a_day: float
    reached_at: datetime
    reached_id: UUID
    counts: Mapping[str, int]
    day: date
    day_decisions: int
    day_usd: float
    usd: float
    ended_at: datetime | None
    ended_by: str | None
    ended_why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningShadow:
    """A shadow with its candidate's changes; ``withdrawn``: a person withdrew the candidate."""

    shadow: Shadow
    changes: Mapping[str, Any]
    withdrawn: bool


async def start_shadow(source: Pool, candidate_id: UUID, step: Author, *, usd_a_day: float = 0.0) -> Shadow:
    """Let a candidate decide the new events of its account, without acting.

    Raises:
        TrialRefused: no such candidate, withdrawn, running already, or too many run.
        AccountRejected: the candidate cannot be used with the settings in force.
    """
    _check(step, usd_a_day)
    candidate = await startable_candidate(source, candidate_id)
    values = {
        "id": uuid_at(step.now),
        "user_id": candidate.user_id,
        "candidate_id": candidate_id,
        "made_by": step.made_by,
        "reason": step.reason.strip(),
        "now": step.now,
        "usd_a_day": usd_a_day,
        "first": FIRST_ID,
    }
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(SERIALISE, (candidate.user_id,))
        running = await (await connection.execute(NUMBER, (candidate.user_id,))).fetchone()
        if running and running[0] >= MOST_RUNNING:
            raise TrialRefused(
                f"shadow: expected at most {MOST_RUNNING} of {candidate.user_id} at a time, got another"
            )
        try:
            cursor = connection.cursor(row_factory=class_row(Shadow))
            started = await (await cursor.execute(INSERT, values)).fetchone()
        except psycopg.errors.UniqueViolation:
            raise TrialRefused("shadow: expected one of this candidate at a time, got a second") from None
        assert started is not None  # INSERT ... RETURNING gives a row or raises
        await append_entry(connection, _entry(started, step, "started"))
    return started


async def stop_shadow(source: Pool, shadow_id: UUID, step: Author) -> Shadow:
    """End a shadow; its results stay.

    Raises:
        TrialRefused: it does not run.
    """
    _check(step)
    return await _end(source, shadow_id, ShadowState.STOPPED, step)


async def switch_off_shadow(source: Pool, shadow_id: UUID, reason: str, now: datetime) -> Shadow:
    """End a shadow whose candidate cannot decide.

    Raises:
        TrialRefused: it does not run any more.
    """
    step = Author(made_by=RUNNER, reason=reason[:REASON_CHARS], now=now)
    return await _end(source, shadow_id, ShadowState.FAILED, step)


async def get_shadow(source: Pool, shadow_id: UUID) -> Shadow | None:
    """A shadow, or None."""
    found = await fetch_dicts(source, GET, (shadow_id,))
    return Shadow(**found[0]) if found else None


async def list_shadows(source: Pool, user_id: str, *, limit: int = 20) -> tuple[Shadow, ...]:
    """The shadows of an account, the newest first."""
    return tuple(Shadow(**row) for row in await fetch_dicts(source, LIST, (user_id, limit)))


async def list_running_shadows(source: Pool) -> tuple[RunningShadow, ...]:
    """The shadows that run; the one that is most behind comes first."""
    found = []
    for row in await fetch_dicts(source, RUNNING):
        changes, withdrawn = row.pop("changes"), row.pop("withdrawn")
        found.append(RunningShadow(shadow=Shadow(**row), changes=changes, withdrawn=withdrawn))
    return tuple(found)


async def may_run_shadows(source: Pool) -> bool:
    """Whether the login may read recordings and write results; that of workers may not."""
    query = "SELECT has_table_privilege('recordings', 'SELECT') AND has_table_privilege('shadows', 'INSERT')"
    rows = await fetch_rows(source, query)
    return bool(rows[0][0])


async def _end(source: Pool, shadow_id: UUID, state: ShadowState, step: Author) -> Shadow:
    values = {"id": shadow_id, "state": state.value, "now": step.now}
    values |= {"made_by": step.made_by, "reason": step.reason.strip()}
    async with checkout(source) as connection, connection.transaction():
        cursor = connection.cursor(row_factory=class_row(Shadow))
        ended = await (await cursor.execute(END, values)).fetchone()
        if ended is None:
            raise TrialRefused(f"shadow: expected one that runs, got {shadow_id}")
        if step.made_by != RUNNER:
            await append_entry(connection, _entry(ended, step, "stopped"))
    return ended


def _entry(shadow: Shadow, step: Author, what: str) -> LogEntry:
    return step.logged(shadow.user_id, {"shadow": str(shadow.shadow_id), "step": what})


def _check(step: Author, usd_a_day: float = 0.0) -> None:
    step.check_reason()
    if not 0 <= usd_a_day <= MOST_USD:
        raise TrialRefused(f"usd_a_day: expected 0 to {MOST_USD:.0f}, got {usd_a_day}")
