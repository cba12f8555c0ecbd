"""The review panel: what somebody sees beside a decision to say what they think of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db import exchanges, golden, items, queues, reviews
from db.decision_page import Connection
from db.exchanges import Exchange, Subject
from db.golden import Known
from db.identifiers import identifier
from db.items import Held
from db.queues import Kind, Queue
from db.reviews import CAUSES, GIVEN, NOTE_CHARS, Cause, Remedy, Review, Ruling
from review.access import Right
from review.reviewing.drafts import Draft, who
from review.story.walking import came_from
from review.web import Visit
from worker.model import Verdict

KEYS: Final[Mapping[Ruling, str]] = {Ruling.AGREE: "1", Ruling.OVERTURN: "2", Ruling.UNSURE: "3"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Everything the partial ``decision/_review_panel.html`` shows.

    Attributes:
        may_review: whether the person may review on this account.
        seen: what the form sends back, so that a stale submit is noticed.
        hidden: what others said is held back until the person has answered.
        reviews: what was said, oldest first; empty while hidden.
        mine: the person's own standing review.
        held: the queue item the person answers with it.
        holders: others who are at work on the decision.
        place: where the exchange is; while hidden, where the decision left it.
        offers: remedies by verdict, the proposed one first.
        known: the known answer, for leads and for who has answered it, with ``answered``.
        undo: the person's newest review while it can be taken back, of this decision or of another.
        hand_queues: where a lead may put the decision.
        came_from: query of the list to go back to; every form here carries it.
        problem: why the draft was not stored.
    """

    decision_id: UUID
    user_id: str
    decision: Verdict
    may_review: bool
    may_lead: bool
    state: str
    seen: str
    hidden: bool
    reviews: tuple[Review, ...]
    mine: Review | None
    held: Held | None
    holders: tuple[dict[str, Any], ...]
    place: Exchange
    offers: Mapping[Ruling, tuple[Remedy, ...]]
    known: Known | None
    answered: Review | None
    undo: Review | None
    undo_left_s: int
    now: datetime
    hand_queues: tuple[Queue, ...] = ()
    came_from: str | None = None
    draft: Draft = field(default_factory=Draft)
    problem: str = ""

    rulings: tuple[Ruling, ...] = GIVEN
    keys: Mapping[Ruling, str] = field(default_factory=lambda: KEYS)
    causes: Mapping[Cause, str] = field(default_factory=lambda: CAUSES)
    note_chars: int = NOTE_CHARS

    @property
    def corrections(self) -> tuple[Verdict, ...]:
        """What may be said to have been right instead."""
        return tuple(each for each in Verdict if each is not self.decision)

    @property
    def remedies(self) -> Mapping[Remedy, str]:
        """Every remedy that some verdict offers, with the verdict it belongs to."""
        return {remedy: ruling for ruling, offered in self.offers.items() for remedy in offered}


async def panel_on(visit: Visit, connection: Connection, subject: Subject) -> Panel:
    """What the review panel shows of a decision that this person may see."""
    place = await exchanges.exchange(connection, subject, visit.now)
    said = await reviews.of_decision(connection, subject.id)
    person_id = visit.person.person_id
    facts = {
        "seen": str(await reviews.last_seen(connection, subject.id) or ""),
        "held": await items.held(connection, subject.id, person_id),
        "holders": await items.holders(connection, subject.id, visit.now),
        "undo": await reviews.undoable(connection, person_id, visit.now),
        "known": await golden.known(connection, subject.id),
    }
    opened = await queues.all_open(connection) if visit.may(Right.LEAD, subject.user_id) else ()
    made = tuple(each for each in opened if each.is_for((subject.user_id,)))
    return _panel(visit, subject, place, said, facts | {"hand_queues": made})


def _panel(
    visit: Visit, subject: Subject, place: Exchange, said: tuple[Review, ...], facts: dict[str, Any]
) -> Panel:
    held, undo, me = facts["held"], facts["undo"], who(visit)
    hidden = held is not None  # of whatever kind, or it would tell the golden ones
    place = exchanges.as_decided(subject, place) if hidden else place
    answered = next((each for each in said if each.source == "golden" and each.is_by(me)), None)
    may_lead = visit.may(Right.LEAD, subject.user_id)
    mine = next((each for each in reviews.counted(said) if each.is_by(me)), None)
    others = [each for each in facts["holders"] if each["claimed_by"] != visit.person.person_id]
    return Panel(
        decision_id=subject.id,
        user_id=subject.user_id,
        decision=subject.decision,
        may_review=visit.may(Right.REVIEW, subject.user_id),
        may_lead=may_lead,
        state="open" if hidden else reviews.state(said),
        seen=str(identifier(visit.now)) if hidden else facts["seen"],  # the newest review's would tell of it
        hidden=hidden,
        reviews=() if hidden else tuple(each for each in said if each.source != "golden" or each.is_by(me)),
        mine=None if hidden else mine,
        held=held,
        holders=tuple(others),
        place=place,
        offers={each: exchanges.offered(subject, each, place) for each in GIVEN},
        known=facts["known"] if not hidden and (answered or may_lead) else None,
        answered=answered,
        undo=undo,
        undo_left_s=max(0, round((undo.undo_until() - visit.now).total_seconds())) if undo else 0,
        now=visit.now,
        hand_queues=tuple(each for each in facts["hand_queues"] if each.kind is Kind.HAND),
        came_from=came_from(visit),
    )
