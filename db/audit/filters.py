"""The filters of the audit, as conditions on its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from db.answers.state import SENT, AnswerState, answered_decisions
from db.answers.tables import answers
from db.audit import snapshot_filters
from db.audit.snapshot_filters import Condition
from db.collaboration.tables import decision_assignments as assigned
from db.customer_feedback.reading import FeedbackFilter, feedback_condition
from db.customer_feedback.tables import customer_feedback
from db.figures import figure_sql
from db.figures.figure_sql import RunEvent
from db.identifiers import uuid_time_bounds
from db.people.tables import people
from db.review_tables import queue_items, review_states
from db.tables import IS_CHECK, ai_decisions, checks, event_keys
from worker.model import Tier

RULES_VERSION: Final[sa.ColumnElement[int]] = sa.literal_column(
    "(ai_decisions.snapshot_json ->> 'rules_version')::integer", sa.Integer
)
"""The expression of the index."""
COUNTED: Final = sa.literal_column(
    figure_sql.confidence_counts("(ai_decisions.snapshot_json -> 'assessment')"), sa.Boolean
)
"""Whether the confidence counts in means and rates."""
ASSESSED: Final = sa.literal_column(
    figure_sql.assessed("(ai_decisions.snapshot_json -> 'assessment')"), sa.Boolean
)
"""Whether a draft was assessed, so that the confidence is its assessment."""
CHECKED: Final = sa.literal_column(f"(ai_decisions.{IS_CHECK.removeprefix('(')}", sa.Boolean)
"""Whether a program had it checked; the expression of the index."""
_PARTS: Final = {name: f"(ai_decisions.snapshot_json -> '{name}')" for name in ("attempts", "rechecked")}


class ReviewFilter(StrEnum):
    """The review state of a decision."""

    OPEN = "open"
    REVIEWED = "reviewed"
    AGREE = "agree"
    OVERTURN = "overturn"
    UNSURE = "unsure"
    DISPUTED = "disputed"


class SourceFilter(StrEnum):
    """Whence the message came: by the stream, or with a check of a program."""

    STREAM = "stream"
    CHECK = "check"


class AnsweredFilter(StrEnum):
    """What a person answered to a decision: the states of ``AnswerState``, any answer, or none."""

    ANSWERED = "yes"
    APPROVED = AnswerState.APPROVED.value
    EDITED = AnswerState.EDITED.value
    WRITTEN = AnswerState.WRITTEN.value
    DISMISSED = AnswerState.DISMISSED.value
    UNANSWERED = "no"


class FeatureFilter(Protocol):
    """The value of a filter that an optional feature declares."""

    def condition(self) -> Condition:
        """The condition on a decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The filters of a search; None means any.

    Attributes:
        accounts: only these, the ones that the person may see.
        matched_rule: exact, or a prefix when it ends in ``*``.
        rules_version: of the account's settings; each account counts its own.
        candidate_id: of the candidate that decided, in a rollout.
        tier: of the assessment; a decision without an assessment has no tier.
        stage_outcome: ``moderation:failed``; ``*:failed`` is any stage.
        assignee: login of the person it is assigned to, or whose claim in a queue has not expired.
        further: filters of optional features.
        text: part of the message, in any case.
        chosen: only these decisions; empty: any.
        answered: by a person.
        feedback: of customers about the reply.
        hidden: these decisions count as neither reviewed nor answered; see ``db.reviews.queue_items``.
        walk: scan the snapshots for labels instead of their index; ``db.audit.estimates`` sets it.
    """

    since: datetime | None = None
    until: datetime | None = None
    user_id: str | None = None
    accounts: tuple[str, ...] | None = None
    decision: str | None = None
    reason_codes: tuple[str, ...] | None = None
    matched_rule: str | None = None
    rules_version: int | None = None
    candidate_id: UUID | None = None
    scope: str | None = None
    conversation_id: str | None = None
    author_id: str | None = None
    event_id: str | None = None
    message_id: str | None = None
    degraded: bool | None = None
    least_confidence: float | None = None
    most_confidence: float | None = None
    tier: Tier | None = None
    rejection_reason: str | None = None
    stage_outcome: str | None = None
    ran: RunEvent | None = None
    review: ReviewFilter | None = None
    answered: AnsweredFilter | None = None
    feedback: FeedbackFilter | None = None
    source: SourceFilter | None = None
    assignee: str | None = None
    further: tuple[FeatureFilter, ...] = ()
    text: str | None = None
    chosen: tuple[UUID, ...] = ()
    hidden: tuple[UUID, ...] = ()
    walk: bool = False

    def reaches(self) -> tuple[str, ...] | None:
        """The accounts that the search covers; None: every account."""
        if self.user_id is None:
            return self.accounts
        allowed = self.accounts is None or self.user_id in self.accounts
        return (self.user_id,) if allowed else ()

    def about(self) -> str | None:
        """The only account of the search, for the access log; None for several accounts, or for all."""
        reached = self.reaches() or ()
        return reached[0] if len(reached) == 1 else None


def filter_conditions(filters: Filters) -> list[Condition]:
    """The conditions on a decision, without those on its account."""
    return [
        *_columns(filters),
        *_chosen(filters),
        *_within(ai_decisions.c.created_at, filters),
        *_event(filters),
        *_trace(filters),
        *(each.condition() for each in filters.further),
        *_people(filters),
    ]


def account_conditions(filters: Filters) -> list[Condition]:
    """The condition that a decision is of an account asked for and allowed."""
    match filters.reaches():
        case None:
            return []
        case several:
            return [_one_of(ai_decisions.c.user_id, several)]


def requires_review(filters: Filters) -> bool:
    """True when only reviewed decisions match."""
    return filters.review not in (None, ReviewFilter.OPEN)


def review_conditions(filters: Filters) -> list[Condition]:
    """The conditions on a row of ``review_states``, when only reviewed decisions match."""
    found = [*_within(review_states.c.decision_at, filters)]
    if filters.review is ReviewFilter.REVIEWED:
        found.append(review_states.c.state != ReviewFilter.OPEN.value)
    elif filters.review is not None:
        found.append(review_states.c.state == filters.review.value)
    if filters.hidden:
        found.append(review_states.c.decision_id.not_in(filters.hidden))
    if (accounts := filters.reaches()) is not None:
        found.append(review_states.c.user_id == sa.any_(sa.cast(list(accounts), ARRAY(sa.Text))))
    return found


def marked_keys(filters: Filters) -> sa.Select[Any] | None:
    """Keys of the decisions that people answered or customers rated, where only these match; else None."""
    if filters.answered not in (None, AnsweredFilter.UNANSWERED):
        table: sa.Table = answers
    elif filters.feedback not in (None, FeedbackFilter.NONE):
        table = customer_feedback
    else:
        return None
    columns = table.c
    found = (
        sa.select(columns.decision_at, columns.decision_id)
        .distinct()
        .where(columns.decision_id.is_not(None), *_within(columns.decision_at, filters))
    )
    if (accounts := filters.reaches()) is not None:
        found = found.where(_one_of(columns.user_id, accounts))
    return found


def filters_accounts_only(filters: Filters) -> bool:
    """True when only accounts and time are filtered."""
    plain = Filters(
        since=filters.since, until=filters.until, user_id=filters.user_id, accounts=filters.accounts
    )
    return filters == plain


def _one_of(column: sa.ColumnElement[str], values: tuple[str, ...]) -> Condition:
    """A single value is compared with ``=``: only then an index gives the rows in the order of time."""
    if len(values) == 1:
        return column == values[0]
    return column == sa.any_(sa.cast(list(values), ARRAY(sa.Text)))


def _within(column: sa.ColumnElement[datetime], filters: Filters) -> Iterator[Condition]:
    if filters.since is not None:
        yield column >= filters.since
    if filters.until is not None:
        yield column < filters.until


def _columns(filters: Filters) -> Iterator[Condition]:
    names = (
        "decision",
        "scope",
        "conversation_id",
        "author_id",
        "event_id",
        "message_id",
        "rejection_reason",
        "candidate_id",
    )
    for name in names:
        if (value := getattr(filters, name)) is not None:
            yield ai_decisions.c[name] == value
    if filters.reason_codes is not None:
        yield _one_of(ai_decisions.c.reason_code, filters.reason_codes)
    if filters.least_confidence is not None or filters.most_confidence is not None:
        yield ASSESSED
    if filters.least_confidence is not None:
        yield ai_decisions.c.confidence >= filters.least_confidence
    if filters.most_confidence is not None:
        yield ai_decisions.c.confidence <= filters.most_confidence
    if filters.degraded is not None:  # without a comparison, as in the index of the degraded
        yield ai_decisions.c.degraded if filters.degraded else ~ai_decisions.c.degraded
    if filters.text is not None:
        yield ai_decisions.c.message_text.ilike(f"%{_plain(filters.text)}%")
    if (rule := filters.matched_rule) is not None:
        prefix = rule.removesuffix("*")
        is_prefix = rule.endswith("*")
        column = ai_decisions.c.matched_rule
        yield column.like(f"{_plain(prefix)}%") if is_prefix else column == rule


def _chosen(filters: Filters) -> Iterator[Condition]:
    if bounds := [uuid_time_bounds(each) for each in filters.chosen]:  # times let the planner skip partitions
        yield ai_decisions.c.created_at.between(min(bounds)[0], max(bounds)[1])
        yield ai_decisions.c.id.in_(filters.chosen)


def _trace(filters: Filters) -> Iterator[Condition]:
    if filters.rules_version is not None:
        yield sa.literal(filters.rules_version) == RULES_VERSION
    marks = filters.tier, filters.stage_outcome
    known = None if filters.walk else snapshot_filters.indexed_condition(*marks)
    if known is not None:
        yield known
    else:
        yield from snapshot_filters.scan_conditions(*marks)
    if filters.source is not None:
        yield CHECKED if filters.source is SourceFilter.CHECK else sa.func.coalesce(~CHECKED, sa.true())
    if filters.ran is not None:
        yield sa.literal_column(figure_sql.run_condition(filters.ran, **_PARTS), sa.Boolean)


def _event(filters: Filters) -> Iterator[Condition]:
    """The time of an event's decision, and of a check with the same id, while a key table has either."""
    if filters.event_id is None or filters.user_id is None:
        return
    known = [
        sa.select(keys.c.created_at)
        .where(keys.c.user_id == filters.user_id, keys.c.event_id == filters.event_id)
        .scalar_subquery()
        for keys in (event_keys, checks)
    ]
    yield ai_decisions.c.created_at >= sa.func.coalesce(sa.func.least(*known), sa.text("'-infinity'"))
    yield ai_decisions.c.created_at <= sa.func.coalesce(sa.func.greatest(*known), sa.text("'infinity'"))


def _people(filters: Filters) -> Iterator[Condition]:
    if filters.review is ReviewFilter.OPEN:
        is_reviewed = review_states.c.state != ReviewFilter.OPEN.value
        if filters.hidden:
            is_reviewed &= review_states.c.decision_id.not_in(filters.hidden)
        yield ~sa.exists().where(review_states.c.decision_id == ai_decisions.c.id, is_reviewed)
    if filters.answered is not None:
        yield _answered(filters.answered, filters.hidden)
    if filters.feedback is not None:
        yield feedback_condition(filters.feedback)
    if filters.assignee is not None:
        person_id = sa.select(people.c.id).where(people.c.login == filters.assignee.lower()).scalar_subquery()
        is_assigned = sa.or_(
            queue_items.c.assigned_to == person_id,
            sa.and_(queue_items.c.claimed_by == person_id, queue_items.c.claimed_until > sa.func.now()),
        )
        yield sa.tuple_(ai_decisions.c.created_at, ai_decisions.c.id).in_(
            sa.select(queue_items.c.decision_at, queue_items.c.decision_id)
            .where(queue_items.c.done_at.is_(None), is_assigned)
            .union_all(
                sa.select(assigned.c.decision_at, assigned.c.decision_id).where(
                    assigned.c.person_id == person_id, assigned.c.done_at.is_(None)
                )
            )
        )


def _answered(wanted: AnsweredFilter, hidden: tuple[UUID, ...]) -> Condition:
    """The condition on the standing answer of a person."""
    found, sent = answered_decisions.c, [each.value for each in SENT]
    wants_text = wanted in (AnsweredFilter.ANSWERED, AnsweredFilter.UNANSWERED)
    is_wanted = found.state.in_(sent) if wants_text else found.state == wanted.value
    if hidden:
        is_wanted &= found.decision_id.not_in(hidden)
    if wanted is AnsweredFilter.UNANSWERED:  # looked up for each row of a page, not gathered for all
        stands = sa.select(sa.true()).where(found.decision_id == ai_decisions.c.id, is_wanted).limit(1)
        return stands.scalar_subquery().is_(None)
    answered = sa.select(found.decision_at, found.decision_id).where(is_wanted)
    return sa.tuple_(ai_decisions.c.created_at, ai_decisions.c.id).in_(answered)


def _plain(text: str) -> str:
    """Text with the wildcards of LIKE escaped."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
