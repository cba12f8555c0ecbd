"""Storing a review and taking it back: one transaction each, with what it does to history and queues."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db import exchanges, golden, items, remedies, reviews
from db.exchanges import Subject
from db.identifiers import identifier
from db.items import Held
from db.remedies import UndoTooLate
from db.review_tables import decision_reviews
from db.reviews import (
    GIVEN,
    NOTE_CHARS,
    UNDO_WINDOW,
    Cause,
    DecisionGone,
    Remedy,
    Review,
    Reviewer,
    ReviewRejected,
    Ruling,
    Source,
)
from worker.model import Verdict

LOCK_STATE: Final = sa.text("""
    INSERT INTO review_states (decision_id, decision_at, user_id, state, reviews, last_review, updated_at)
    VALUES (:decision, :decision_at, :user_id, 'open', 0, :mine, :now)
    ON CONFLICT (decision_id) DO UPDATE SET decision_id = EXCLUDED.decision_id
    RETURNING last_review
""")
SET_STATE: Final = sa.text("""
    UPDATE review_states SET state = :state, reviews = :reviews, last_review = :last, updated_at = :now
    WHERE decision_id = :decision
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a person hands in.

    Attributes:
        cause: needed to overturn.
        corrected: what should have been decided instead; only with ``overturn``.
        remedy: what to do to the stored exchange.
        source: ``page``, ``bulk`` or ``cli``; a page's becomes ``queue``, ``blind`` or ``golden`` when its
            person holds the decision in a queue.
        seen: the newest review that the person had before them, None when there was none; for what they hold
            any identifier made when they had the page, as reviews are not shown to them.
        job_id: the bulk job it belongs to.
    """

    decision_id: UUID
    reviewer: Reviewer
    ruling: Ruling
    cause: Cause | None = None
    note: str = ""
    corrected: Verdict | None = None
    remedy: Remedy = Remedy.NONE
    source: Source = Source.PAGE
    seen: UUID | None = None
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A review that was stored.

    Attributes:
        item: the queue item it answers, or None.
        known: what a good reader says, when it was a golden item.
    """

    review: Review
    item: Held | None
    known: golden.Known | None


class Stale(ReviewRejected):
    """Somebody reviewed the decision meanwhile; nothing was stored.

    Attributes:
        reviews: everything said of it by now, oldest first.
    """

    def __init__(self, others: tuple[Review, ...]) -> None:
        super().__init__("review: expected the newest state before you, got one that others have changed")
        self.reviews = others


async def submit(connection: AsyncConnection, given: Submission, now: datetime) -> Stored:
    """Store a review with its effect, close the queue item it answers, deal a second reading where due.

    An earlier standing review of the same person is withdrawn by it; what that one did to the exchange stays
    unless the new one asks for the opposite.

    Raises:
        DecisionGone: there is no such decision.
        ReviewRejected: a field is not usable.
        Stale: somebody was faster.
        RemedyImpossible: the exchange is not where it would have to be.
    """
    decided = await exchanges.subject(connection, given.decision_id)
    if decided is None:
        raise DecisionGone(f"decision: expected the id of a stored one, got {given.decision_id}")
    _check(given, decided)
    held = await _held(connection, given)
    source = held.source if held else given.source
    review_id = identifier(now)
    if source is Source.GOLDEN:
        done = remedies.Applied()
    else:
        await _enter(connection, given, decided, review_id, now, held=held)
        apply = remedies.apply if held is None else remedies.apply_unseen
        done = await apply(
            connection, decided, given.remedy, ruling=given.ruling, review_id=review_id, now=now
        )
    row = _row(decided, given.reviewer, review_id, now) | {
        "verdict": given.ruling,
        "corrected_decision": given.corrected,
        "reason_code": given.cause or "",
        "note": given.note.strip(),
        "effect": done.effect,
        "sealed_until": done.sealed_until,
        "source": source,
        "item_id": held.item_id if held else None,
        "job_id": given.job_id,
    }
    await _append(connection, row)
    if source is not Source.GOLDEN:
        await _follow(connection, decided, review_id, now)
    person = given.reviewer.person_id
    await items.settle(connection, decided.id, review_id=review_id, answered=held, person_id=person, now=now)
    stored = await reviews.one(connection, review_id)
    assert stored is not None  # noqa: S101  # stored above
    known = await golden.known(connection, decided.id) if source is Source.GOLDEN else None
    return Stored(review=stored, item=held, known=known)


async def withdraw(connection: AsyncConnection, review_id: UUID, reviewer: Reviewer, now: datetime) -> Review:
    """Take a review back within ``UNDO_WINDOW``, with what it did; the row that says so.

    Raises:
        ReviewRejected: it is not there, not this person's, taken back already, or an answer to a golden item.
        UndoTooLate: the window is over, or its effect has left the house.
    """
    first = await reviews.one(connection, review_id)
    decided = await exchanges.subject(connection, first.decision_id) if first else None
    if first is None or decided is None:
        raise DecisionGone(f"undo: expected the id of a stored review, got {review_id}")
    mine = identifier(now)
    await _locked(connection, decided, mine, now)
    given = await reviews.one(connection, review_id)
    assert given is not None  # noqa: S101  # reviews are never deleted
    _may_undo(given, reviewer, now)
    effect = await remedies.take_back(connection, decided, given, now)
    row = _row(decided, reviewer, mine, now)
    change = {"verdict": Ruling.WITHDRAWN, "effect": effect, "source": given.source, "withdraws": given.id}
    await _append(connection, row | change)
    await _follow(connection, decided, mine, now)
    await items.reopen(connection, given.id, now)
    stored = await reviews.one(connection, mine)
    assert stored is not None  # noqa: S101  # stored above
    return stored


def _check(given: Submission, decided: Subject) -> None:
    if given.ruling not in GIVEN:
        raise ReviewRejected(f"verdict: expected {', '.join(GIVEN)}, got {given.ruling}")
    if given.ruling is Ruling.OVERTURN and given.cause is None:
        raise ReviewRejected("reason: expected a reason code, as an overturn needs one, got nothing")
    if given.corrected is not None and given.ruling is not Ruling.OVERTURN:
        raise ReviewRejected(f"corrected decision: expected only with overturn, got it with {given.ruling}")
    if given.corrected is decided.decision:
        raise ReviewRejected(f"corrected decision: expected another than {decided.decision}, which it was")
    if len(given.note) > NOTE_CHARS:
        raise ReviewRejected(f"note: expected at most {NOTE_CHARS} characters, got {len(given.note)}")
    if "\0" in given.note:
        raise ReviewRejected("note: expected text without NUL characters, got one")


async def _locked(connection: AsyncConnection, decided: Subject, mine: UUID, now: datetime) -> UUID | None:
    """Hold the decision's summary until the transaction ends; the newest review so far."""
    values = {
        "decision": decided.id,
        "decision_at": decided.created_at,
        "user_id": decided.user_id,
        "mine": mine,
        "now": now,
    }
    last: UUID = (await connection.execute(LOCK_STATE, values)).scalar_one()
    return None if last == mine else last


async def _enter(
    connection: AsyncConnection,
    given: Submission,
    decided: Subject,
    review_id: UUID,
    now: datetime,
    *,
    held: Held | None,
) -> None:
    """Hold the decision, refuse what is stale, and withdraw what the same person said before."""
    before = await _locked(connection, decided, review_id, now)
    said = await reviews.of_decision(connection, decided.id)
    if _stale(given.seen, before, held):
        raise Stale(said)
    for each in reviews.counted(said):
        if each.is_by(given.reviewer):
            row = _row(decided, given.reviewer, identifier(now), now)
            change = {"verdict": Ruling.WITHDRAWN, "source": each.source, "withdraws": each.id}
            await _append(connection, row | change)


def _stale(seen: UUID | None, before: UUID | None, held: Held | None) -> bool:
    """Whether somebody reviewed the decision after the page was made; nothing is stale to a blind reader."""
    if before is None or seen == before or (held is not None and held.hides_reviews):
        return False
    return held is None or seen is None or before > seen  # in the order of time, as UUIDv7 are


async def _held(connection: AsyncConnection, given: Submission) -> Held | None:
    if given.source is not Source.PAGE or given.reviewer.person_id is None:
        return None
    return await items.locked(connection, given.decision_id, given.reviewer.person_id)


def _may_undo(given: Review, reviewer: Reviewer, now: datetime) -> None:
    if not given.is_by(reviewer):
        raise ReviewRejected(f"undo: expected a review of your own, got one by {given.person}")
    if not given.standing:
        raise ReviewRejected("undo: expected a review that stands, got one that was taken back already")
    if given.source is Source.GOLDEN:
        raise ReviewRejected("undo: expected a review, got an answer whose known answer you have seen")
    if now > given.undo_until():
        raise UndoTooLate(
            f"undo: possible for {UNDO_WINDOW.total_seconds():.0f} s, this review is older; store a new one"
            " instead, which withdraws it"
        )


async def _append(connection: AsyncConnection, values: dict[str, object]) -> None:
    await connection.execute(sa.insert(decision_reviews).values(**values))


def _row(decided: Subject, reviewer: Reviewer, review_id: UUID, now: datetime) -> dict[str, object]:
    return {
        "id": review_id,
        "decision_id": decided.id,
        "decision_at": decided.created_at,
        "user_id": decided.user_id,
        "person_id": reviewer.person_id,
        "person": reviewer.login,
        "created_at": now,
    }


async def _follow(connection: AsyncConnection, decided: Subject, last: UUID, now: datetime) -> None:
    """Bring the summary up to what was said."""
    said = await reviews.of_decision(connection, decided.id)
    values = {
        "decision": decided.id,
        "state": reviews.state(said),
        "reviews": len(reviews.counted(said)),
        "last": last,
        "now": now,
    }
    await connection.execute(SET_STATE, values)
