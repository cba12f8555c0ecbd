"""Golden sets and their new items as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db.access_log import LogEntry
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
class GoldenStep:
    """Who changes a set, and when; ``entry`` begins the line of the access log."""

    made_by: str
    now: datetime
    entry: LogEntry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """An item to add; ``recorded_at``: time of its decision, of an imported row the time of the import."""

    row_id: str
    source: GoldenSource
    label: GoldenLabel
    content: GoldenContent
    recorded_at: datetime
    decision_id: UUID | None = None
