"""Queues of reviews: with decisions in them, with known answers, with second readings."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from db.people.records import Person, Role
from db.reviews import golden_answers, queues
from db.reviews.queues import NewQueue, Queue, QueueKind
from db.reviews.rulings import Reviewer, Ruling
from tests.support.audited import NOW
from tests.support.reviewing import add_person, stored


def as_reviewer(person: Person) -> Reviewer:
    """The person as the one who rules."""
    return Reviewer(person_id=person.person_id, login=person.login)


def new_reviewer(url: str) -> Reviewer:
    """A new reviewer of every account."""
    return as_reviewer(add_person(url, Role.REVIEWER))


def hand_queue(url: str, name: str, decisions: dict[UUID, Any], **shares: Any) -> UUID:
    """A queue with these decisions in it; shares are those of ``NewQueue``."""
    opening, at = NewQueue(name=name, kind=QueueKind.HAND, **shares), NOW - timedelta(days=1)
    created = stored(url, lambda connection: queues.create_queue(connection, opening, created_by="t", now=at))
    stored(
        url, lambda connection: queues.add_decisions(connection, created, decisions, accounts=None, now=NOW)
    )
    return created


def open_queue(url: str, kind: QueueKind) -> Queue:
    """The first open queue of a kind, such as that of second readings."""
    return next(each for each in stored(url, queues.list_open_queues) if each.kind is kind)


def mark_known(url: str, decision_id: UUID, by: Reviewer, note: str = "because") -> None:
    """Mark a decision as one whose known answer is agreement."""
    stored(
        url,
        lambda connection: golden_answers.set_known_answer(
            connection, decision_id, ruling=Ruling.AGREE, corrected=None, note=note, by=by
        ),
    )
