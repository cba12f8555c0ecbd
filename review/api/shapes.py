"""The bodies of the JSON API; the OpenAPI document is made from these dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from db.access_log import LogLine
from db.escalations.listing import EscalationRecord, EscalationState
from db.webhooks.deliveries import WebhookDelivery, WholeWebhookDelivery
from db.webhooks.endpoints import WebhookEndpoint
from review.http.field_problems import FieldProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A refusal (RFC 9457); ``errors`` with status 422 only."""

    title: str
    status: int
    detail: str
    errors: tuple[FieldProblem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLine:
    """A decision as lists show it; ``review`` is its review state.

    ``confidence`` is the confidence in a draft where ``assessed`` is true, and has no meaning elsewhere.
    ``candidate_id`` is the candidate of a rollout that decided; null: the settings in force did.
    ``answered`` is what a person answered: ``approved``, ``edited``, ``written`` or ``dismissed``; null,
    as the other fields of the answer, while no answer stands. ``feedback`` is what customers say of the
    reply: ``wrong``, ``right``, ``neither``, or null.
    """

    id: UUID
    created_at: datetime
    user_id: str
    event_id: str
    message_id: str
    conversation_id: str
    author_id: str
    scope: str
    decision: str
    confidence: float
    assessed: bool
    reason_code: str
    reason: str
    matched_rule: str | None
    message_text: str
    degraded: bool
    candidate_id: UUID | None
    review: str
    answered: str | None
    answered_by: str | None
    answered_at: datetime | None
    answer_text: str | None
    feedback: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """A page of decisions, newest first; ``newer`` and ``older`` are cursors, null at the ends."""

    decisions: tuple[DecisionLine, ...]
    newer: str | None
    older: str | None
    searched_to: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationConfidence:
    """The assessed replies of a conversation; ``confidence`` is their mean, 0..1.

    ``high``, ``medium`` and ``low`` count replies by tier. ``confidence_log`` has an entry per draft that the
    policy ``guardrail`` assessed; it is null without the filter ``conversation``.
    """

    user_id: str
    conversation_id: str
    latest_at: datetime
    replies: int
    confidence: float
    high: int
    medium: int
    low: int
    rechecked: int
    improved: int
    escalated: int
    confidence_log: tuple[Mapping[str, Any], ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationConfidences:
    """Conversations with an assessed reply, latest first."""

    conversations: tuple[ConversationConfidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeDecision(DecisionLine):
    """A decision with its snapshot; ``reply_draft`` is the reply as assessed, with its citation marks.

    The sent text is ``reply_disclosure``, where there is one, and ``reply_text``. ``reply_sentences`` are
    those that a judge supported, as on the reply stream; null without a reading. ``reply_sent_as`` is the
    decision whose reply to the event was sent instead, and that the database lost; null: this one's.
    """

    snapshot_json: Mapping[str, Any]
    reply_text: str | None
    reply_disclosure: str | None
    reply_draft: str | None
    reply_sources: tuple[Mapping[str, Any], ...] | None
    reply_sentences: tuple[Mapping[str, Any], ...] | None
    reply_delivered_at: datetime | None
    reply_sent_as: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOwner:
    """Who may answer in a conversation, ``ai`` or ``people``; null where people never had it.

    ``people_until`` is when the conversation returns, or returned, to the AI; ``cause`` is ``escalation``,
    ``agent_message``, ``command`` or ``release``.
    """

    user_id: str
    conversation_id: str
    owner: str
    people_until: datetime | None
    cause: str | None
    changed_by: str | None
    changed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedConversations:
    """Conversations that people own, latest takeover first."""

    conversations: tuple[ConversationOwner, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationLine(EscalationRecord):
    """A message that people must answer, or had to: ``state`` is ``open`` or ``closed``.

    ``queue`` is empty where the account's settings name none. ``cause`` is ``answered``, ``released``,
    ``idle``, ``reviewed`` or ``replaced``.
    """

    state: EscalationState = field()


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalations:
    """A page of escalations, oldest first; ``next`` is a cursor, null at the end."""

    escalations: tuple[EscalationLine, ...]
    next: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionLine:
    """A topic that the documents do not cover; ``examples`` are ids of its newest decisions, newest first.

    ``unanswered`` counts the decisions without a reply that a model wrote.
    """

    topic: str
    key: str
    count: int
    unanswered: int
    newest: datetime
    examples: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionsBody:
    """Topics, most frequent first; ``complete`` is false when older decisions were left out."""

    account: str | None
    since: datetime
    until: datetime
    decisions: int
    complete: bool
    suggestions: tuple[SuggestionLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessLog:
    """A page of the access log, newest first; ``older`` is a cursor, null at the end."""

    lines: tuple[LogLine, ...]
    older: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresBody:
    """The figures of the dashboard: times in ms, shares 0..1; ``before`` is the period before.

    ``totals`` counts a message that a person answered in ``answered`` alone; ``steps`` counts what the AI
    decided, whether or not a person answered. ``answers`` counts what people did with messages by outcome,
    and has the share of each outcome of a draft (``unchanged``, ``edited``, ``replaced``). ``rejections`` has
    ``rejection_reason``, ``decisions`` and ``share`` of each reason why policies rejected drafts.
    """

    since: datetime
    until: datetime
    step_s: float
    account: str | None
    scope: str | None
    uncounted_hours: int
    totals: Mapping[str, Any]
    rejections: tuple[Mapping[str, Any], ...]
    answers: Mapping[str, Any]
    times_ms: Mapping[str, Any]
    steps: tuple[Mapping[str, Any], ...]
    mean_confidence: tuple[Mapping[str, Any], ...]
    mean_confidence_by_label: tuple[Mapping[str, Any], ...]
    before: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementBody:
    """How far people agree with decisions and each other: shares 0..1 with their 95 % intervals."""

    since: datetime
    until: datetime
    account: str | None
    basis: str | None
    reviews_by_basis: Any
    rules: tuple[Mapping[str, Any], ...]
    reasons: tuple[Mapping[str, Any], ...]
    reviewers: tuple[Mapping[str, Any], ...]
    second_readings: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """An OpenAPI 3.1 document."""

    openapi: str
    info: Mapping[str, Any]
    paths: Mapping[str, Any]
    components: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEndpoints:
    """The webhook endpoints of an account, with masked secrets."""

    endpoints: tuple[WebhookEndpoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDeliveries:
    """Deliveries to an endpoint, newest first; ``older`` is the value of ``before`` for the next page."""

    deliveries: tuple[WebhookDelivery, ...]
    older: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDelivery:
    """A delivery with what is sent and the start of the last answer."""

    webhook_id: str
    delivery: WholeWebhookDelivery
