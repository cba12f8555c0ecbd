"""``hushgate explain``: what Redis and Postgres know of an event, combined to one answer per account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from db.audit.event_records import EventLetter, EventOutcome, EventReply, StoredExchange
from tasks.lanes.lookup import FoundEntry


class EventState(StrEnum):
    """What happened to an event; the first four are those of its stream entry."""

    UNREAD = "unread"
    WAITING = "waiting"
    RUNNING = "running"
    STALLED = "stalled"
    DECIDED = "decided"
    DEAD_LETTER = "dead_letter"
    NOT_STORED = "not_stored"
    NOT_FOUND = "not_found"
    UNKNOWN = "unknown"


class ReplyState(StrEnum):
    """Where a reply is."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    HELD_BACK = "held_back"
    CANCELLED = "cancelled"


class ExchangeState(StrEnum):
    """Where the event's message and its answer are stored."""

    IN_HISTORY = "in_history"
    RESTORED = "restored"
    SEALED = "sealed"
    REMOVED = "removed"
    NONE = "none"


SENTENCES: Final = {
    EventState.UNREAD: "No worker has read the event yet; hushgate doctor says whether workers run.",
    EventState.WAITING: "The event waits in the lane of its conversation.",
    EventState.RUNNING: "A worker is deciding the event: it waits for a model, for moderation or for the"
    " author's next message.",
    EventState.STALLED: "The worker of the event has no heartbeat; another worker takes the lane over.",
    EventState.DECIDED: "The event or check is decided.",
    EventState.DEAD_LETTER: "The event became a dead letter.",
    EventState.NOT_STORED: "The event or check was decided; the decision is no longer stored.",
    EventState.NOT_FOUND: "No event with this id is in the stream, and no event or check in the audit;"
    " does the publisher use this HUSHGATE_STREAM and REDIS_URL?",
    EventState.UNKNOWN: "Nothing was found, and not everything could be read.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReport:
    """What happened to an event or a check of one account.

    Attributes:
        user_id: the account; None when no part names one.
        entries: entries of the event that are still in the stream.
        unknown: parts that could not be read, with the reason.
        problem: what the worker of an unfinished event reports of servers that the event needs, and what to
            do; empty: nothing.
    """

    event_id: str
    user_id: str | None
    entries: tuple[FoundEntry, ...]
    outcome: EventOutcome | None
    letters: tuple[EventLetter, ...]
    unknown: Mapping[str, str]
    problem: str = ""

    @property
    def state(self) -> EventState:
        """A decision counts before an entry, an entry before the dead letter of an earlier entry."""
        if self.outcome is not None and self.outcome.decision_id is not None:
            missing = self.outcome.decision is None and "decision" not in self.unknown
            return EventState.NOT_STORED if missing else EventState.DECIDED
        buried = {letter.entry_id for letter in self.letters}
        buried |= {self.outcome.entry_id} if self.outcome else set()
        unfinished = [entry for entry in self.entries if entry.entry_id not in buried]
        if unfinished:
            return EventState(unfinished[0].state)
        if buried:
            return EventState.DEAD_LETTER
        return EventState.UNKNOWN if self.unknown else EventState.NOT_FOUND

    def as_json(self) -> dict[str, Any]:
        """The report as one JSON object, documented in docs/cli.md."""
        outcome = self.outcome
        reply = outcome.reply if outcome else None
        retraction = outcome.retraction if outcome else None
        exchange = outcome.exchange if outcome else None
        return {
            "event_id": self.event_id,
            "user_id": self.user_id,
            "state": self.state,
            "explanation": SENTENCES[self.state],
            "problem": self.problem,
            "entries": [asdict(entry) for entry in self.entries],
            "decision": asdict(outcome.decision) if outcome and outcome.decision else None,
            "duplicates": outcome.duplicates if outcome else None,
            "dead_letters": [asdict(letter) for letter in self.letters],
            "reply": {"state": reply_state(reply), **asdict(reply)} if reply else None,
            "answers": [asdict(answer) for answer in outcome.answers] if outcome else [],
            "retraction": asdict(retraction) if retraction else None,
            "texts": asdict(outcome.texts) if outcome and outcome.texts else None,
            "conversation": asdict(outcome.conversation) if outcome and outcome.conversation else None,
            "exchange": {"state": exchange_state(outcome, exchange), **asdict(exchange)}
            if outcome and exchange
            else None,
            "unknown": dict(self.unknown),
        }


def combine(
    event_id: str,
    *,
    entries: tuple[FoundEntry, ...],
    outcomes: tuple[EventOutcome, ...],
    letters: tuple[EventLetter, ...],
    unknown: Mapping[str, str],
) -> tuple[EventReport, ...]:
    """One report for each account that has the event id; one without an account when nothing names one.

    A check of an account has a report of its own.
    """
    by_account = {outcome.user_id: outcome for outcome in outcomes if not outcome.is_check}
    checks = [each for each in outcomes if each.is_check]
    named = [entry.user_id for entry in entries] + [letter.user_id for letter in letters]
    accounts: list[str | None] = [
        *sorted({*by_account, *(user_id for user_id in named if user_id is not None)})
    ]
    if None in named or not (accounts or checks):
        accounts.append(None)
    events = tuple(
        EventReport(
            event_id=event_id,
            user_id=user_id,
            entries=tuple(entry for entry in entries if entry.user_id == user_id),
            outcome=None if user_id is None else by_account.get(user_id),
            letters=tuple(letter for letter in letters if letter.user_id == user_id),
            unknown=unknown,
        )
        for user_id in accounts
    )
    return events + tuple(
        EventReport(
            event_id=event_id,
            user_id=each.user_id,
            entries=(),
            outcome=each,
            letters=(),
            unknown=unknown,
        )
        for each in checks
    )


def reply_state(reply: EventReply) -> ReplyState:
    """Where a reply is."""
    if reply.delivered_at is not None:
        return ReplyState.DELIVERED
    if reply.cancelled_at is None:
        return ReplyState.WAITING
    return ReplyState.HELD_BACK if reply.cancel_reason == "too_late" else ReplyState.CANCELLED


def exchange_state(outcome: EventOutcome, exchange: StoredExchange) -> ExchangeState:
    """Where the exchange is now, compared with where the decision stored the exchange."""
    sealed_when_decided = outcome.decision is not None and outcome.decision.sealed_when_decided
    if exchange.in_history:
        return ExchangeState.RESTORED if sealed_when_decided else ExchangeState.IN_HISTORY
    if exchange.sealed:
        return ExchangeState.SEALED if sealed_when_decided else ExchangeState.REMOVED
    return ExchangeState.NONE
