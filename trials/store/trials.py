"""The statements of trials: stored with who took which step.

A trial goes this way::

    begin_trial -> progress.store_progress (backtest, shadow) -> take_step

A step is one transaction with its line of the access log. An evaluation is stored at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
import sqlalchemy as sa
from psycopg.types.json import Jsonb

from db.access_log import append_entry
from db.connection import Connection
from db.identifiers import uuid_at
from db.pool import Pool, checkout, fetch_dicts
from db.rows import first_row, first_value, from_row
from trials.pure.trial import STATES, StepKind, Trial, TrialKind, TrialStep
from trials.store.candidates import Actor, TrialRefused, TriedSettings

COLUMNS: Final = (
    "user_id", "kind", "state", "candidate_id", "base_version", "changes", "set_id", "since", "until",
    "reached_at", "reached_id", "share", "usd_a_day", "plan", "started_at", "stepped_at", "done", "counts",
    "examples", "arms", "day", "day_decisions", "day_usd", "usd",
)  # fmt: skip
JSON: Final = frozenset({"changes", "plan", "counts", "examples", "arms"})
INSERT: Final = f"""
    INSERT INTO trials (id, {", ".join(COLUMNS)})
    VALUES (%(trial_id)s, {", ".join(f"%({name})s" for name in COLUMNS)})
"""
SELECT: Final = f"""
    SELECT t.id AS trial_id, {", ".join(f"t.{name}" for name in COLUMNS)},
        coalesce(c.note, '') AS note, c.withdrawn_at IS NOT NULL AS withdrawn,
        (SELECT jsonb_agg(s ORDER BY s.id) FROM trial_steps s WHERE s.trial_id = t.id) AS steps
    FROM trials t LEFT JOIN candidates c ON c.id = t.candidate_id
"""
GET: Final = f"{SELECT} WHERE t.id = %s"
LIST: Final = f"""
    {SELECT} WHERE t.user_id = %(user_id)s AND t.kind = ANY(%(kinds)s)
        AND (%(set_id)s::uuid IS NULL OR t.set_id = %(set_id)s)
    ORDER BY t.id DESC LIMIT %(limit)s
"""
EVALUATIONS: Final = f"""
    {SELECT} WHERE t.user_id = %s AND t.set_id IS NOT NULL
        AND NOT EXISTS (SELECT FROM trials n WHERE n.set_id = t.set_id AND n.id > t.id)
"""
FLEET: Final = sa.text("""
    SELECT count(*) FILTER (WHERE kind = 'shadow' AND state = 'running') AS shadows_running,
        count(*) FILTER (WHERE kind = 'shadow' AND state = 'failed') AS shadows_failed,
        coalesce(array_agg(user_id ORDER BY stepped_at) FILTER (
            WHERE kind = 'rollout' AND state = 'returned' AND stepped_at >= now() - interval '1 hour'
                AND EXISTS (SELECT FROM trial_steps s
                            WHERE s.trial_id = t.id AND s.kind = 'return' AND s.automatic)), '{}')
            AS rollouts_returned
    FROM trials t WHERE state = 'running' OR stepped_at > now() - interval '1 day'
""")
RUNNING: Final = f"{SELECT} WHERE t.kind = %s AND t.state = 'running' ORDER BY t.reached_at"
STEP: Final = """
    INSERT INTO trial_steps (trial_id, kind, share, made_by, automatic, reason, made_at, version, figures)
    VALUES (%(id)s, %(kind)s, %(share)s, %(made_by)s, %(automatic)s, %(reason)s, %(now)s, %(version)s,
        %(figures)s)
"""
CHANGE: Final = """
    UPDATE trials SET state = %(state)s, share = coalesce(%(share)s::float8, share), stepped_at = %(now)s
    WHERE id = %(id)s AND state = 'running' RETURNING id
"""


def new_trial(kind: TrialKind, tried: TriedSettings, now: datetime, **declared: Any) -> Trial:
    """A trial that starts now, with what its kind declares; not stored yet."""
    start = {"reached_at": now, "started_at": now, "stepped_at": now} | declared
    return Trial(
        trial_id=uuid_at(now),
        kind=kind,
        user_id=tried.user_id,
        candidate_id=tried.candidate_id,
        base_version=tried.base_version,
        changes=tried.changes,
        **start,
    )


async def store_trial(source: Pool, trial: Trial, actor: Actor) -> None:
    """Store a new trial that no other one excludes, with its first step."""
    async with checkout(source) as connection, connection.transaction():
        await begin_trial(connection, trial, actor)


async def begin_trial(connection: Connection, trial: Trial, actor: Actor) -> None:
    """Store a new trial with its first step.

    Raises:
        TrialRefused: another one runs, of the account or of the candidate.
    """
    values = {name: getattr(trial, name) for name in ("trial_id", *COLUMNS)}
    values |= {name: None if values[name] is None else Jsonb(values[name]) for name in JSON}
    try:
        await connection.execute(INSERT, values)
    except psycopg.errors.UniqueViolation:
        of = trial.user_id if trial.kind == TrialKind.ROLLOUT else "this candidate"
        raise TrialRefused(f"{trial.kind}: expected one of {of} at a time, got a second") from None
    await note_step(connection, trial, StepKind.START, actor, share=trial.share)


async def take_step(
    connection: Connection,
    trial: Trial,
    kind: StepKind,
    actor: Actor,
    *,
    share: float | None = None,
    figures: Mapping[str, Any] | None = None,
) -> Trial:
    """Change or end a running trial. ``share``: of a rollout from then on.

    Raises:
        TrialRefused: it does not run.
    """
    changed = await change_trial(connection, trial, kind, actor.now, share=share)
    await note_step(connection, trial, kind, actor, share=share, figures=figures)
    return changed


async def change_trial(
    connection: Connection, trial: Trial, kind: StepKind, now: datetime, *, share: float | None = None
) -> Trial:
    """The trial after a step that the caller notes; raises as ``take_step``."""
    kept = None if kind is StepKind.RETURN else share
    values = {"id": trial.trial_id, "state": STATES[kind].value, "share": kept, "now": now}
    if await first_value(connection, CHANGE, values) is None:
        raise not_running(trial.kind, trial.trial_id)
    return replace(trial, state=STATES[kind], share=kept or trial.share, stepped_at=now)


async def note_step(
    connection: Connection,
    trial: Trial,
    kind: StepKind,
    actor: Actor,
    *,
    share: float | None = None,
    version: int | None = None,
    figures: Mapping[str, Any] | None = None,
) -> None:
    """Store a step; of a person's step on a shadow or rollout also a line of the access log."""
    values: dict[str, Any] = {"id": trial.trial_id, "kind": kind.value, "share": share}
    values |= {"made_by": actor.made_by, "automatic": actor.automatic, "now": actor.now}
    values |= {
        "reason": actor.reason.strip(),
        "version": version,
        "figures": None if figures is None else Jsonb(dict(figures)),
    }
    await connection.execute(STEP, values)
    if actor.automatic or trial.kind not in (TrialKind.SHADOW, TrialKind.ROLLOUT):
        return
    detail: dict[str, Any] = {trial.kind: str(trial.trial_id), "step": kind.value}
    if trial.kind == TrialKind.ROLLOUT:
        detail |= {"share": share, "version": version}
    await append_entry(connection, actor.logged(trial.user_id, detail))


def not_running(kind: str, trial_id: UUID) -> TrialRefused:
    """A step of a trial that has ended, or that is not stored."""
    return TrialRefused(f"{kind}: expected one that runs, got {trial_id}")


async def get_trial(source: Pool, trial_id: UUID, kind: TrialKind | None = None) -> Trial | None:
    """A trial; None for an unknown id or a trial of another kind."""
    rows = await fetch_dicts(source, GET, (trial_id,))
    return next((trial for trial in map(_trial, rows) if kind is None or trial.kind == kind), None)


async def list_trials(
    source: Pool, user_id: str, *kinds: TrialKind, set_id: UUID | None = None, limit: int = 20
) -> tuple[Trial, ...]:
    """The trials of these kinds of an account, the newest first; with ``set_id`` of this golden set only."""
    values = {"user_id": user_id, "kinds": list(map(str, kinds)), "set_id": set_id, "limit": limit}
    return tuple(map(_trial, await fetch_dicts(source, LIST, values)))


async def newest_evaluations(source: Pool, user_id: str) -> tuple[Trial, ...]:
    """The newest evaluation of each golden set of an account."""
    return tuple(map(_trial, await fetch_dicts(source, EVALUATIONS, (user_id,))))


async def running_trials(source: Pool, kind: TrialKind) -> tuple[Trial, ...]:
    """The running trials of a kind; the trial that is most behind comes first."""
    return tuple(map(_trial, await fetch_dicts(source, RUNNING, (kind,))))


async def fleet_figures(connection: Connection) -> Mapping[str, Any]:
    """For ``db.fleet.figures.StoredFigures``: rollouts that left their bounds within an hour, and shadows."""
    found = await first_row(connection, FLEET)
    assert found is not None  # an aggregate has one row
    return dict(found) | {"rollouts_returned": tuple(found["rollouts_returned"])}


def _trial(row: dict[str, Any]) -> Trial:
    return from_row(Trial, row | {"steps": map(_step, row["steps"] or ())})


def _step(stored: dict[str, Any]) -> TrialStep:
    return from_row(TrialStep, stored | {"made_at": datetime.fromisoformat(stored["made_at"])})
