"""The review panel of the decision page: the review form, the reviews, the queue item and known answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.identifiers import uuid_at
from db.review_store import AsyncConnection
from db.reviews import exchanges, golden_answers, queue_items, queues
from db.reviews import rulings as reviews
from db.reviews.exchanges import Exchange, ReviewSubject
from db.reviews.golden_answers import KnownAnswer
from db.reviews.queue_items import HeldItem
from db.reviews.queues import Queue, QueueKind
from db.reviews.rulings import (
    NOTE_CHARS,
    RULING_REASONS,
    RULINGS,
    Remedy,
    Review,
    Reviewer,
    Ruling,
    RulingReason,
)
from review.access import Right
from review.http.visit import Visit
from review.queues.review_form import ReviewDraft
from worker.model import DecisionKind

KEYS: Final[Mapping[Ruling, str]] = {Ruling.AGREE: "1", Ruling.OVERTURN: "2", Ruling.UNSURE: "3"}
LONGEST_QUERY: Final = 4000
"""Characters of a list's query that links and forms carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPanel:
    """Everything the partial ``decision/_review_panel.html`` shows.

    Attributes:
        may_review: whether the person may review on this account.
        seen: what the form sends back, so that a stale submit is noticed.
        hidden: reviews of others are not shown until the person has answered.
        reviews: oldest first; empty while hidden.
        mine: the person's own standing review.
        held: the queue item that the person's review answers.
        holders: other people who hold the decision in a queue.
        place: location of the exchange; while hidden, where the decision left it.
        offers: remedies by ruling, the proposed one first.
        known: the known answer, for leads and for who has answered it, with ``answered``.
        undo: the person's newest review while it can be taken back, of this decision or of another.
        hand_queues: where a lead may put the decision.
        came_from: query of the list to go back to; every form here carries it.
        finished: the queue without further items for the person after their answer; empty for none.
        undone: the decision whose review the person has just withdrawn, while they stay in its queue.
        problem: why the draft was not stored.
    """

    decision_id: UUID
    user_id: str
    decision: DecisionKind
    may_review: bool
    may_lead: bool
    state: str
    seen: str
    hidden: bool
    reviews: tuple[Review, ...]
    mine: Review | None
    held: HeldItem | None
    holders: tuple[dict[str, Any], ...]
    place: Exchange
    offers: Mapping[Ruling, tuple[Remedy, ...]]
    known: KnownAnswer | None
    answered: Review | None
    undo: Review | None
    undo_left_s: int
    now: datetime
    hand_queues: tuple[Queue, ...] = ()
    came_from: str | None = None
    finished: str = ""
    undone: UUID | None = None
    draft: ReviewDraft = field(default_factory=ReviewDraft)
    problem: str = ""

    rulings: tuple[Ruling, ...] = RULINGS
    keys: Mapping[Ruling, str] = field(default_factory=lambda: KEYS)
    reasons: Mapping[RulingReason, str] = field(default_factory=lambda: RULING_REASONS)
    note_chars: int = NOTE_CHARS

    @property
    def corrections(self) -> tuple[DecisionKind, ...]:
        """The decisions that a reviewer can name as right instead."""
        return tuple(each for each in DecisionKind if each is not self.decision)

    @property
    def remedies(self) -> Mapping[Remedy, str]:
        """Every offered remedy, with the ruling it belongs to."""
        return {remedy: ruling for ruling, offered in self.offers.items() for remedy in offered}


def list_query(visit: Visit) -> str | None:
    """The query of the list the person came from, in ``?from=`` or in a form's field; None without one."""
    given = visit.request.query_params.get("from", visit.form.get("from"))
    return given if isinstance(given, str) and len(given) <= LONGEST_QUERY else None


async def load_review_panel(visit: Visit, connection: AsyncConnection, subject: ReviewSubject) -> ReviewPanel:
    """What the review panel shows of a decision that this person may see."""
    place = await exchanges.load_exchange(connection, subject, visit.now)
    said = await reviews.list_reviews(connection, subject.id)
    person_id = visit.person.person_id
    facts = {
        "seen": str(await reviews.last_seen_review(connection, subject.id) or ""),
        "held": await queue_items.held_item(connection, subject.id, person_id),
        "holders": await queue_items.list_holders(connection, subject.id, visit.now),
        "undo": await reviews.undoable_review(connection, person_id, visit.now),
        "known": await golden_answers.known_answer(connection, subject.id),
        "finished": await _finished(visit, connection),
    }
    opened = await queues.list_open_queues(connection) if visit.may(Right.LEAD, subject.user_id) else ()
    made = tuple(each for each in opened if each.is_for((subject.user_id,)))
    return _panel(visit, subject, place, said, facts | {"hand_queues": made})


async def _finished(visit: Visit, connection: AsyncConnection) -> str:
    """The name of the queue that the address says is finished, as far as the person may know of it."""
    queue_id = _identifier(visit, "finished")
    queue = None if queue_id is None else await queues.get_queue(connection, queue_id)
    known = queue is not None and visit.may(Right.REVIEW) and queue.is_for(visit.accounts(Right.REVIEW))
    return queue.name if queue is not None and known else ""


def _identifier(visit: Visit, name: str) -> UUID | None:
    """A UUID of the query; None when there is none."""
    try:
        return UUID(visit.request.query_params.get(name, ""))
    except ValueError:
        return None


def _panel(
    visit: Visit, subject: ReviewSubject, place: Exchange, said: tuple[Review, ...], facts: dict[str, Any]
) -> ReviewPanel:
    held, undo, me = (
        facts["held"],
        facts["undo"],
        Reviewer(person_id=visit.person.person_id, login=visit.person.login),
    )
    hidden = held is not None  # of any kind, or it would reveal the golden ones
    place = exchanges.exchange_as_decided(subject, place) if hidden else place
    answered = next((each for each in said if each.source == "golden" and each.is_by(me)), None)
    may_lead = visit.may(Right.LEAD, subject.user_id)
    mine = next((each for each in reviews.standing_reviews(said) if each.is_by(me)), None)
    others = [each for each in facts["holders"] if each["claimed_by"] != visit.person.person_id]
    return ReviewPanel(
        decision_id=subject.id,
        user_id=subject.user_id,
        decision=subject.decision,
        may_review=visit.may(Right.REVIEW, subject.user_id),
        may_lead=may_lead,
        state="open" if hidden else reviews.review_state(said),
        seen=str(uuid_at(visit.now)) if hidden else facts["seen"],  # the newest review's id would reveal it
        hidden=hidden,
        reviews=() if hidden else tuple(each for each in said if each.source != "golden" or each.is_by(me)),
        mine=None if hidden else mine,
        held=held,
        holders=tuple(others),
        place=place,
        offers={each: exchanges.offered_remedies(subject, each, place) for each in RULINGS},
        known=facts["known"] if not hidden and (answered or may_lead) else None,
        answered=answered,
        undo=undo,
        undo_left_s=undo.undo_left_s(visit.now) if undo else 0,
        now=visit.now,
        hand_queues=tuple(each for each in facts["hand_queues"] if each.kind is QueueKind.HAND),
        came_from=list_query(visit),
        finished=facts["finished"],
        undone=_identifier(visit, "undone"),
    )
