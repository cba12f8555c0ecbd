"""Who should review a decision: assigning, undoing, and the end by a review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.identifiers import uuid_at
from db.rows import Row, account_parameters, first_row, row_as, rows_as

MOST_LISTED: Final = 50
LOAD: Final = """
    SELECT a.person_id, coalesce(nullif(p.name, ''), p.login) AS name, p.login, a.before,
           coalesce(nullif(b.name, ''), b.login) AS before_name, a.change, a.assigned_by, a.assigned_at,
           a.done_at
    FROM decision_assignments a LEFT JOIN people p ON p.id = a.person_id LEFT JOIN people b ON b.id = a.before
    WHERE a.decision_id = :decision
"""
ONE: Final = sa.text(LOAD)
LOCK_ITEMS: Final = "SELECT * FROM queue_items WHERE decision_id = :decision ORDER BY id FOR UPDATE"
"""First in every transaction that changes a decision's items and what is stored beside them."""
LOCKED: Final = sa.text(f"{LOAD} FOR UPDATE OF a")
STORE: Final = sa.text("""
    INSERT INTO decision_assignments AS a (decision_id, decision_at, user_id, person_id, before, change,
                                           assigned_by, assigned_at)
    VALUES (:decision, :decision_at, :account, :person, NULL, :change, :by, :now)
    ON CONFLICT (decision_id) DO UPDATE SET person_id = :person,
        before = CASE WHEN a.done_at IS NULL THEN a.person_id END, change = :change, assigned_by = :by,
        assigned_at = :now, done_at = NULL, review_id = NULL
""")
ITEMS: Final = sa.text("""
    UPDATE queue_items SET assigned_to = :person, skipped_by = array_remove(skipped_by, :person)
    WHERE decision_id = :decision AND done_at IS NULL AND NOT golden AND first_review IS NULL
""")
"""Items with a known answer and second readings are dealt by their own rules."""
HOLDER: Final = sa.text("""
    SELECT coalesce(nullif(p.name, ''), p.login)
    FROM queue_items i JOIN people p ON p.id = i.claimed_by
    WHERE i.decision_id = :decision AND i.done_at IS NULL AND i.claimed_until > :now
        AND i.claimed_by IS DISTINCT FROM :person AND NOT i.golden AND i.first_review IS NULL LIMIT 1
""")
DONE: Final = sa.text("""
    UPDATE decision_assignments SET done_at = :now, review_id = :review
    WHERE decision_id = :decision AND done_at IS NULL
""")
REOPEN: Final = sa.text("""
    UPDATE decision_assignments SET done_at = NULL, review_id = NULL WHERE review_id = :review
""")
MINE: Final = """
    FROM decision_assignments
    WHERE person_id = :person AND done_at IS NULL AND (:every OR user_id = ANY(:accounts))
"""
LISTED: Final = sa.text(f"""
    SELECT decision_id, user_id, assigned_by, assigned_at {MINE} ORDER BY assigned_at LIMIT :most
""")
COUNTED: Final = sa.text(f"SELECT count(*) {MINE}")


class HeldByAnother(Exception):
    """Another person reads the decision in a queue now; the text is that person's name."""


class ChangedSince(Exception):
    """Another assignment is stored than the one to be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedDecision:
    """A decision to assign, and who assigns it; ``by`` is a login."""

    decision_id: UUID
    decision_at: datetime
    user_id: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Who should review a decision.

    Attributes:
        person_id: None: no one any more; then ``name`` and ``login`` are None too.
        before: who had it before the last change; an undo gives it back.
        change: the last change.
        done_at: when a review ended it.
    """

    person_id: UUID | None
    name: str | None
    login: str | None
    before: UUID | None
    before_name: str | None
    change: UUID
    assigned_by: str
    assigned_at: datetime
    done_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAssignment:
    """A decision that waits for the person it is assigned to."""

    decision_id: UUID
    user_id: str
    assigned_by: str
    assigned_at: datetime


async def load_assignment(connection: Connection, decision_id: UUID) -> Assignment | None:
    """The assignment of a decision; None when the decision was never assigned."""
    return await row_as(connection, Assignment, ONE, {"decision": decision_id})


async def assign(
    connection: Connection, made: AssignedDecision, person_id: UUID | None, now: datetime
) -> None:
    """Assign a decision, with its open queue items, to a person; None ends the assignment.

    Raises:
        HeldByAnother: another person reads it in a queue now.
    """
    await _locked(connection, made.decision_id)
    values = {"decision": made.decision_id, "person": person_id, "now": now}
    holder = (await connection.execute(HOLDER, values)).scalar()
    if holder is not None:
        raise HeldByAnother(holder)
    stored = {"decision_at": made.decision_at, "account": made.user_id, "change": uuid_at(now), "by": made.by}
    await connection.execute(STORE, values | stored)
    await connection.execute(ITEMS, values)


async def undo_assignment(
    connection: Connection, made: AssignedDecision, change: UUID, now: datetime
) -> UUID | None:
    """Give a decision back to the person who had it before a change; returns that person, or None.

    Raises:
        ChangedSince: it was assigned again, or reviewed, since.
        HeldByAnother: as ``assign``.
    """
    row = await _locked(connection, made.decision_id)
    if row is None or row["change"] != change or row["done_at"] is not None:
        raise ChangedSince
    before: UUID | None = row["before"]
    await assign(connection, made, before, now)
    return before


async def _locked(connection: Connection, decision_id: UUID) -> Row | None:
    await connection.execute(sa.text(LOCK_ITEMS), {"decision": decision_id})
    return await first_row(connection, LOCKED, {"decision": decision_id})


async def end_assignment(connection: Connection, decision_id: UUID, review_id: UUID, now: datetime) -> None:
    """A review ends the assignment of its decision."""
    await connection.execute(DONE, {"decision": decision_id, "review": review_id, "now": now})


async def reopen_assignment(connection: Connection, review_id: UUID) -> None:
    """The assignment that a withdrawn review ended waits again."""
    await connection.execute(REOPEN, {"review": review_id})


async def list_own(
    connection: Connection, person_id: UUID, accounts: Sequence[str] | None
) -> tuple[OwnAssignment, ...]:
    """What waits for the person, longest first; ``accounts`` are those the person may review."""
    values = {"person": person_id, "most": MOST_LISTED, **account_parameters(accounts)}
    return await rows_as(connection, OwnAssignment, LISTED, values)


async def count_own(connection: Connection, person_id: UUID, accounts: Sequence[str] | None) -> int:
    """How many decisions wait for the person."""
    values = {"person": person_id, **account_parameters(accounts)}
    return int((await connection.execute(COUNTED, values)).scalar_one())
