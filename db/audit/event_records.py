"""Records of what Postgres knows of one event, as ``db.audit.event_outcomes`` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from db.audit.decision_context import RetractionRecord
from worker.snapshot import SnapshotCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCalls:
    """Failed calls of one stage: those of a hold are of a moderation stage, retries of another.

    Attributes:
        failed: how many failed.
        last: kind of the last failure.
        duration_s: time of the whole stage, with its pauses.
    """

    stage: str
    failed: int
    last: str
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDecision:
    """The decision on an event, without its texts and stages.

    Attributes:
        failed_calls: one for each stage that called a model or moderation without success.
        settings_version: the version of the account's settings that it used.
        policy: the assessment policy with its version; None when no draft was assessed.
        sealed_when_decided: the decision moved the exchange into quarantine.
        checked: the verdict of a check; None for an event.
    """

    id: UUID
    created_at: datetime
    decision: str
    reason_code: str
    reason: str
    confidence: float
    matched_rule: str | None
    degraded: bool
    conversation_id: str
    settings_version: int | None
    policy: str | None
    prompt_hash: str | None
    sealed_when_decided: bool
    failed_calls: tuple[FailedCalls, ...]
    stages: tuple[str, ...]
    checked: SnapshotCheck | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventConversation:
    """Who owns the event's conversation now, ``ai`` or ``people``, and the last change of that."""

    owner: str
    people_until: datetime
    cause: str
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReply:
    """The outbox row of an event; ``sent_as`` as in the table."""

    created_at: datetime
    send_before: datetime | None
    delivered_at: datetime | None
    cancelled_at: datetime | None
    cancel_reason: str | None = None
    sent_as: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventAnswer:
    """What a person did with an event that the AI did not answer; the times are those of the sent text.

    Attributes:
        outcome: ``unchanged``, ``edited``, ``replaced``, ``written`` or ``dismissed``.
        in_outbox: whether its delivery is stored; not of a dismissal, nor after an erasure.
    """

    created_at: datetime
    outcome: str
    person: str
    delivered_at: datetime | None
    cancelled_at: datetime | None
    in_outbox: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExchange:
    """How many messages of the exchange are in the history, and how many are sealed until when."""

    in_history: int
    sealed: int
    sealed_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLetter:
    """A dead letter of the event, or one whose payload quotes the event id and is no JSON object.

    Attributes:
        user_id: the account that the payload names; None when it names none.
    """

    user_id: str | None
    entry_id: str
    created_at: datetime
    reason_code: str
    field: str
    expected: str
    got: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSentence:
    """A sentence of a draft and what was found about it.

    Attributes:
        verdict: of the judge, a word of ``worker.model.Verdict``.
        support: 0..1; None for a sentence that states nothing.
        disagreements: facts that the judge's quotes do not bear out, each with its kind.
        passages: titles of the passages that the judge quotes.
        quotes: the judge's quotes, of a sent reply only.
    """

    text: str
    verdict: str
    support: float | None
    disagreements: tuple[str, ...]
    passages: tuple[str, ...]
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTexts:
    """The texts of a decision that the login may read.

    Attributes:
        message: the first 500 characters of the message.
        disclosure: the text on AI that stands before the reply; None when the conversation had one.
        reply: the text in the outbox.
        held: the text that was not sent and waits for a person, while it is kept.
        passages: titles of the passages that the model was given.
        decided_by: the sentences that the passages do not bear out, or all that they support where each is.
    """

    message: str
    disclosure: str | None
    reply: str | None
    held: str | None
    passages: tuple[str, ...]
    decided_by: tuple[JudgedSentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcome:
    """What became of an event of one account, or of a check, which has no stream entry and no duplicates.

    Attributes:
        entry_id: the stream entry that was decided or became a dead letter.
        decision_id: None when the entry is a dead letter.
        decision: None for a dead letter, and for a decision that is no longer stored.
        month_dropped: of a decision that is no longer stored: True when retention removed its month, False
            when it was erased.
        duplicates: further entries with the same event id; None when they could not be counted.
        conversation: None when people never had it.
        texts: None without a stored decision.
    """

    user_id: str
    entry_id: str
    is_check: bool
    decision_id: UUID | None
    decision: EventDecision | None
    month_dropped: bool | None
    duplicates: int | None
    reply: EventReply | None
    answers: tuple[EventAnswer, ...]
    retraction: RetractionRecord | None
    exchange: StoredExchange | None
    conversation: EventConversation | None
    texts: EventTexts | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcomes:
    """What Postgres knows of an event id, by account.

    Attributes:
        unknown: parts that could not be read, with the reason.
    """

    outcomes: tuple[EventOutcome, ...]
    letters: tuple[EventLetter, ...]
    unknown: Mapping[str, str]
