"""What was published and what was seen: the whole input of the oracle."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

MARK: Final = "zqf"
"""Begins the mark in every text that must not stay in the history; no other text has it."""
MARKED: Final = re.compile(rf"{MARK}(\d+)q")
"""A mark, with the number of its event."""


class EventKind(StrEnum):
    """The ending that an event is made for; only the publisher knows it."""

    QUESTION = "question"
    DOUBTFUL = "question with a doubtful answer"
    SLOW = "question at which the model fails once"
    RULE = "flagged by a rule"
    MODERATED = "flagged by moderation"
    BAD_DRAFT = "flagged draft"
    HANDOFF = "wants a person"
    AGENT = "message of a person"
    OLD = "too old"
    OFF = "account without AI"
    AFTER_TAKEOVER = "question after a takeover"
    MALFORMED = "malformed"


ANSWERABLE: Final = frozenset({EventKind.QUESTION, EventKind.DOUBTFUL, EventKind.SLOW, EventKind.HANDOFF})
"""The only kinds that may have a reply, or a text at a handoff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedEvent:
    """One event, or one payload that is none.

    Attributes:
        name: the event id, or a text inside the payload.
        answer: the only reply that fits its question; empty where it is not known.
    """

    name: str
    conversation: str
    kind: EventKind
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """The raw key of an event.

    Attributes:
        commit: the number of the transaction that wrote it.
        committed_ms: when that was committed, by the wall clock of the machine; 0: unknown.
    """

    name: str
    entry_id: str
    decision_id: str | None
    commit: int
    committed_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """A raw decision."""

    decision_id: str
    name: str
    decision: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """A raw line of the stored history, in the order of its id."""

    conversation: str
    name: str
    by_author: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """A raw row of the outbox; ``cancelled``: why the reply is not sent, empty when it is to be sent."""

    name: str
    handoff: bool
    decision_id: str = ""
    text: str = ""
    cancelled: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenReply:
    """An entry of the reply stream."""

    stream_id: str
    name: str
    conversation: str
    handoff: bool
    decision_id: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEscalation:
    """An entry of the stream of escalations."""

    decision_id: str
    closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenWebhook:
    """A request that the receiver took; ``last_ms``: the newest arrival, by the wall clock of the machine."""

    identifier: str
    name: str
    conversation: str
    handoff: bool
    decision_id: str = ""
    text: str = ""
    last_ms: int = 0


class JobKind(StrEnum):
    """What a review job does."""

    BULK_REVIEW = "bulk_review"
    BULK_UNDO = "bulk_undo"
    EXPORT = "export"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenJob:
    """What became of a review job.

    Attributes:
        state: as stored.
        expected: ids of decisions that it had to process.
        allowed: those that it may have processed.
        processed: those of its reviews or of its file, as often as they are there; empty until it is done.
    """

    name: str
    state: str
    expected: frozenset[str]
    allowed: frozenset[str]
    processed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenVerdict:
    """The verdict of a check, as a program was answered or as stored."""

    name: str
    decision_id: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """Everything that is judged.

    Attributes:
        published: name -> what was published, in the order of publication.
        entries: stream entry -> name, of each entry that Redis or the gateway acknowledged.
        unacknowledged: name -> attempts to publish whose outcome is unknown.
        taken: conversation -> id on the reply stream after which nothing of the AI may follow.
        duplicates: raw rows, as stream entry and name.
        dead: raw dead letters, as stream entry and name.
        closed_before: ids of the decisions whose escalation was closed before the streams were read.
        webhooks_later: names of replies whose next attempt at a webhook is in the future.
        webhooks_cancelled: name -> why the webhook of a reply is not sent; judged, not believed.
        residue: marks of earlier events that a model or a judge was sent.
        prompts_missed: requests to the models that were not looked at.
        jobs: review jobs that were asked for.
        checks: name of a check that was asked for -> whether its text must be stopped.
        verdicts: the answers, in their order.
        check_decisions: raw decisions of checks, as name and id.
        left: what is not finished at the end, name -> count.
        leaks: what grew, as sentences.
        ended: role and exit code of processes that ended without a signal of the run, and how often.
    """

    published: Mapping[str, PublishedEvent] = field(default_factory=dict)
    entries: Mapping[str, str] = field(default_factory=dict)
    unacknowledged: Mapping[str, int] = field(default_factory=dict)
    taken: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[KeyRow, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()
    duplicates: tuple[tuple[str, str], ...] = ()
    dead: tuple[tuple[str, str], ...] = ()
    history: tuple[HistoryRow, ...] = ()
    outbox: tuple[OutboxRow, ...] = ()
    replies: tuple[SeenReply, ...] = ()
    escalations: tuple[SeenEscalation, ...] = ()
    closed_before: frozenset[str] = frozenset()
    webhooks: tuple[SeenWebhook, ...] = ()
    webhooks_later: frozenset[str] = frozenset()
    webhooks_cancelled: Mapping[str, str] = field(default_factory=dict)
    residue: tuple[str, ...] = ()
    prompts_missed: int = 0
    jobs: tuple[SeenJob, ...] = ()
    checks: Mapping[str, bool] = field(default_factory=dict)
    verdicts: tuple[SeenVerdict, ...] = ()
    stored_verdicts: tuple[SeenVerdict, ...] = ()
    check_decisions: tuple[tuple[str, str], ...] = ()
    left: Mapping[str, int] = field(default_factory=dict)
    leaks: tuple[str, ...] = ()
    ended: Mapping[str, int] = field(default_factory=dict)

    @property
    def unacknowledged_total(self) -> int:
        """Attempts to publish whose outcome is unknown."""
        return sum(self.unacknowledged.values())
