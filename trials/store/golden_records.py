"""Golden sets, new items, and the results of evaluations, which are append-only and without texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from db.identifiers import uuid_at
from db.pool import Pool, fetch_dicts, fetch_rows
from trials.pure.evaluation.items import GoldenContent, GoldenLabel, GoldenSource


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenSet:
    """A set of labelled messages.

    Attributes:
        version: counts up with every change of its items, from 1.
        changed_at: of its items; when it was created without any.
        items: how many it has.
    """

    set_id: UUID
    user_id: str
    name: str
    purpose: str
    version: int
    created_by: str
    created_at: datetime
    changed_at: datetime
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """An item to add; ``recorded_at``: time of its decision, of an imported row the time of the import."""

    row_id: str
    source: GoldenSource
    label: GoldenLabel
    content: GoldenContent
    recorded_at: datetime
    decision_id: UUID | None = None


INSERT: Final = """
    INSERT INTO golden_runs (id, set_id, set_version, user_id, arms, made_by, made_at)
    VALUES (%(id)s, %(set_id)s, %(version)s, %(user_id)s, %(arms)s, %(made_by)s, %(now)s) RETURNING id
"""
LIST: Final = """
    SELECT id AS run_id, set_version, arms, made_by, made_at FROM golden_runs
    WHERE set_id = %s ORDER BY id DESC LIMIT %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenRun:
    """One evaluation.

    Attributes:
        set_version: of the set that it was made on.
        arms: one object a model, with ``settings``, ``candidate_id``, ``model`` and the figures, as
            ``trials.pure.evaluation.figures.figures_json`` writes them.
    """

    run_id: UUID
    set_version: int
    arms: Sequence[Mapping[str, Any]]
    made_by: str
    made_at: datetime


async def store_run(
    source: Pool, golden: GoldenSet, arms: Sequence[Mapping[str, Any]], *, made_by: str, now: datetime
) -> None:
    """Store the result of an evaluation."""
    values = {"id": uuid_at(now), "set_id": golden.set_id, "version": golden.version, "now": now}
    values |= {"user_id": golden.user_id, "arms": Jsonb([dict(each) for each in arms]), "made_by": made_by}
    await fetch_rows(source, INSERT, values)


async def list_runs(source: Pool, golden: GoldenSet, *, limit: int = 20) -> tuple[GoldenRun, ...]:
    """The results of a set, the newest first."""
    return tuple(GoldenRun(**row) for row in await fetch_dicts(source, LIST, (golden.set_id, limit)))
