"""The review panel of the decision page: the review form, the reviews, the queue item and known answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.identifiers import uuid_at
from db.reviews import exchanges, rulings
from db.reviews.corrections import FITTING, FittingReason, outcome_of
from db.reviews.exchanges import Exchange, ReviewSubject
from db.reviews.golden_answers import KnownAnswer
from db.reviews.queue_items import DecisionClaims, HeldItem
from db.reviews.rulings import (
    NOTE_CHARS,
    RULINGS,
    Remedy,
    Review,
    Reviewer,
    Ruling,
    RulingReason,
)
from db.reviews.visible_decision import VisibleDecision
from review.access import Right
from review.decision.list_position import list_query
from review.decision.review_form import ReviewFields
from review.http.visit import Visit
from worker.model import DecisionKind

KEYS: Final[Mapping[Ruling, str]] = {Ruling.AGREE: "1", Ruling.OVERTURN: "2", Ruling.UNSURE: "3"}
REASON_KEYS: Final[Mapping[RulingReason, str]] = {
    RulingReason.RULE_TOO_BROAD: "b",
    RulingReason.RULE_MISSED: "m",
    RulingReason.MODERATION_TOO_STRICT: "h",
    RulingReason.MODERATION_MISSED: "l",
    RulingReason.CONTEXT_MATTERS: "c",
    RulingReason.WRONG_FACTS: "w",
    RulingReason.MISSING_KNOWLEDGE: "d",
    RulingReason.OFF_TOPIC: "f",
    RulingReason.BAD_TONE: "t",
    RulingReason.SHOULD_ANSWER: "y",
    RulingReason.SHOULD_ESCALATE: "p",
    RulingReason.POLICY_CHANGED: "z",
    RulingReason.OTHER: "x",
}
"""One key for each reason that may overturn, the same on every page; no key of review/static/keys.js."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPanel:
    """Everything the partial ``decision/_review_panel.html`` shows.

    Attributes:
        seen: what the form sends back, so that a stale submit is noticed.
        reviews: oldest first; empty while hidden.
        own_review: the person's own standing review.
        claimed_item: the queue item that the person's review answers.
        left: other items of its queue that wait for the person.
        holders: other people who hold the decision in a queue.
        exchange: where the exchange is; while reviews are hidden, where the decision left the exchange.
        known: the known answer, for leads and for who has answered it, with ``answered``.
        undo: the person's newest review while it can be undone, of this decision or of another.
        came_from: query of the list to go back to; every form here carries it.
        again: the person asked for the form although they have reviewed the decision.
        undone: the decision whose review the person has just withdrawn, while they stay in its queue.
        fields: the review form as the person filled it in.
        problem: why the review was not stored.
    """

    subject: ReviewSubject
    may_review: bool
    state: str
    seen: str
    reviews: tuple[Review, ...]
    own_review: Review | None
    claimed_item: HeldItem | None
    left: int
    holders: tuple[dict[str, Any], ...]
    exchange: Exchange
    known: KnownAnswer | None
    answered: Review | None
    undo: Review | None
    now: datetime
    came_from: str | None
    again: bool
    undone: UUID | None
    fields: ReviewFields = field(default_factory=ReviewFields)
    problem: str = ""

    rulings: tuple[Ruling, ...] = RULINGS
    keys: Mapping[Ruling, str] = field(default_factory=lambda: KEYS)
    reason_keys: Mapping[RulingReason, str] = field(default_factory=lambda: REASON_KEYS)
    note_chars: int = NOTE_CHARS

    @property
    def blind(self) -> bool:
        """Whether reviews are hidden until the person has answered: for items of any kind.

        If it were for some kinds only, it would reveal the golden items.
        """
        return self.claimed_item is not None

    @property
    def closed(self) -> bool:
        """Whether the form waits for a press, as the person has reviewed the decision.

        A key too many must not replace a review.
        """
        reviewed = self.own_review is not None or self.answered is not None
        return reviewed and not (self.claimed_item or self.again or self.problem or self.fields.ruling)

    @property
    def corrections(self) -> tuple[DecisionKind, ...]:
        """The decisions that a reviewer can name as right instead."""
        return corrections(self.subject)

    @property
    def fitting(self) -> tuple[FittingReason, ...]:
        """The reasons that may overturn this decision, in the order of the form."""
        return FITTING[outcome_of(self.subject.decision, self.subject.reason_code)]

    @property
    def proposed(self) -> tuple[Remedy, ...]:
        """The first remedy of each ruling, which has a key."""
        offered = (exchanges.offered_remedies(self.subject, ruling, self.exchange) for ruling in RULINGS)
        return tuple(each[0] for each in offered if each)

    @property
    def remedies(self) -> Mapping[Remedy, Ruling]:
        """Every offered remedy with the ruling it belongs to, the proposed one of a ruling first."""
        return {
            remedy: ruling
            for ruling in RULINGS
            for remedy in exchanges.offered_remedies(self.subject, ruling, self.exchange)
        }


def corrections(subject: ReviewSubject) -> tuple[DecisionKind, ...]:
    """The decisions that a reviewer can name as right instead."""
    return tuple(each for each in DecisionKind if each is not subject.decision)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewReads:
    """What the panel needs beside the decision.

    Attributes:
        undoable: the person's newest review while it can be undone, of this decision or of another.
    """

    reviews: tuple[Review, ...]
    undoable: Review | None
    claims: DecisionClaims
    exchange: Exchange


def review_panel(visit: Visit, decision: VisibleDecision, found: ReviewReads) -> ReviewPanel:
    """What the review panel shows of a decision that this person may see."""
    person_id, subject = visit.person.person_id, decision.subject
    reviewer = Reviewer(person_id=person_id, login=visit.person.login)
    may_lead = visit.may(Right.LEAD, subject.user_id)
    own = [each for each in rulings.standing_reviews(found.reviews) if each.is_by(reviewer)]
    golden = (
        each for each in found.reviews if each.source == "golden" and each.standing and each.is_by(reviewer)
    )
    answered = next(golden, None)
    panel = ReviewPanel(
        subject=subject,
        may_review=visit.may(Right.REVIEW, subject.user_id),
        state=rulings.review_state(found.reviews),
        seen=str(decision.last_review or ""),
        reviews=tuple(each for each in found.reviews if each.source != "golden" or each.is_by(reviewer)),
        own_review=own[-1] if own else None,
        claimed_item=found.claims.item,
        left=found.claims.left,
        holders=found.claims.holders,
        exchange=found.exchange,
        known=decision.known if answered or may_lead else None,
        answered=answered,
        undo=found.undoable,
        now=visit.now,
        came_from=list_query(visit),
        again="again" in visit.request.query_params,
        undone=visit.query_id("undone"),
    )
    return _without_reviews(panel) if panel.blind else panel


def _without_reviews(panel: ReviewPanel) -> ReviewPanel:
    """The panel for a blind reading; the newest review's id would reveal that there is one."""
    return replace(
        panel,
        state="open",
        seen=str(uuid_at(panel.now)),
        reviews=(),
        own_review=None,
        exchange=exchanges.exchange_as_decided(panel.subject, panel.exchange),
        known=None,
    )
