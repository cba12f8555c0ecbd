"""``hushgate explain``: what Redis and Postgres know of an event, combined to one answer per account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from db.audit.event_outcomes import (
    EventLetter,
    EventOutcome,
    EventReply,
    EventRetraction,
    StoredExchange,
)
from tasks.entry_lookup import EntryState, FoundEntry


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
    EventState.UNREAD: "No worker has read the event yet.",
    EventState.WAITING: "The event waits in the lane of its conversation.",
    EventState.RUNNING: "A worker is deciding the event: it waits for a model or for moderation, or retries.",
    EventState.STALLED: "The worker of the event has no heartbeat; another worker takes the lane over.",
    EventState.DECIDED: "The event is decided.",
    EventState.DEAD_LETTER: "The event became a dead letter.",
    EventState.NOT_STORED: "The event was decided; its decision is no longer stored.",
    EventState.NOT_FOUND: "No event with this id is in the stream or in the audit.",
    EventState.UNKNOWN: "Nothing was found, and not everything could be read.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReport:
    """What happened to an event of one account.

    Attributes:
        user_id: the account; None when no part names one.
        entries: entries of the event that are still in the stream.
        unknown: parts that could not be read, with the reason.
    """

    event_id: str
    user_id: str | None
    entries: tuple[FoundEntry, ...]
    outcome: EventOutcome | None
    letters: tuple[EventLetter, ...]
    unknown: Mapping[str, str]

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
            "entries": [asdict(entry) for entry in self.entries],
            "decision": asdict(outcome.decision) if outcome and outcome.decision else None,
            "duplicates": outcome.duplicates if outcome else None,
            "dead_letters": [asdict(letter) for letter in self.letters],
            "reply": {"state": reply_state(reply), **asdict(reply)} if reply else None,
            "retraction": asdict(retraction) if retraction else None,
            "exchange": {"state": exchange_state(outcome, exchange), **asdict(exchange)}
            if outcome and exchange
            else None,
            "unknown": dict(self.unknown),
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """The report for a person: part and sentence, in the order in which an event travels."""
        yield "account", self.user_id or "unknown"
        for entry in self.entries:
            yield "stream", _entry_text(entry, self.outcome)
        yield from ((f"unknown: {part}", reason) for part, reason in self.unknown.items())
        for letter in self.letters:
            yield (
                "dead letter",
                f"entry {letter.entry_id}, {letter.reason_code}: {letter.field}: expected {letter.expected},"
                f" got {letter.got} ({_moment(letter.created_at)})",
            )
        if self.outcome is not None:
            yield from _outcome_lines(self.outcome)


def combine(
    event_id: str,
    *,
    entries: tuple[FoundEntry, ...],
    outcomes: tuple[EventOutcome, ...],
    letters: tuple[EventLetter, ...],
    unknown: Mapping[str, str],
) -> tuple[EventReport, ...]:
    """One report for each account that has the event id; one without an account when nothing names one."""
    by_account = {outcome.user_id: outcome for outcome in outcomes}
    named = [entry.user_id for entry in entries] + [letter.user_id for letter in letters]
    accounts: list[str | None] = [
        *sorted({*by_account, *(user_id for user_id in named if user_id is not None)})
    ]
    if None in named or not accounts:
        accounts.append(None)
    return tuple(
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


CANCELLED_BECAUSE: Final[Mapping[str | None, str]] = {
    None: "by a reviewer",
    "taken_over": "because people took the conversation",
    "message_deleted": "because the author deleted the message",
}


def reply_state(reply: EventReply) -> ReplyState:
    """Where a reply is; older releases gave no reason, there ``send_before`` tells that it was too late."""
    if reply.delivered_at is not None:
        return ReplyState.DELIVERED
    if reply.cancelled_at is None:
        return ReplyState.WAITING
    if reply.cancel_reason is not None:
        return ReplyState.HELD_BACK if reply.cancel_reason == "too_late" else ReplyState.CANCELLED
    late = reply.send_before is not None and reply.cancelled_at > reply.send_before
    return ReplyState.HELD_BACK if late else ReplyState.CANCELLED


def exchange_state(outcome: EventOutcome, exchange: StoredExchange) -> ExchangeState:
    """Where the exchange is, compared with where the decision put it."""
    sealed_when_decided = outcome.decision is not None and outcome.decision.sealed_when_decided
    if exchange.in_history:
        return ExchangeState.RESTORED if sealed_when_decided else ExchangeState.IN_HISTORY
    if exchange.sealed:
        return ExchangeState.SEALED if sealed_when_decided else ExchangeState.REMOVED
    return ExchangeState.NONE


def _outcome_lines(outcome: EventOutcome) -> Iterator[tuple[str, str]]:
    if (decision := outcome.decision) is not None:
        yield "decision", f"{decision.decision} because {decision.reason_code}: {decision.reason}"
        yield "", f"{_moment(decision.created_at)}, id {decision.id}"
        yield (
            "",
            f"settings version {decision.settings_version}, assessment policy {decision.policy or 'none'}",
        )
        if decision.matched_rule is not None:
            yield "", f"matched rule {decision.matched_rule}"
    elif outcome.decision_id is not None:
        yield "decision", f"id {outcome.decision_id}, {_missing_text(outcome)}"
    if outcome.duplicates:
        yield "duplicates", f"{outcome.duplicates} further stream entries with the same event id"
    if outcome.reply is not None:
        yield "reply", _reply_text(outcome.reply)
    if outcome.retraction is not None:
        yield "retraction", _retraction_text(outcome.retraction)
    if outcome.exchange is not None:
        yield "exchange", _exchange_text(outcome, outcome.exchange)


def _missing_text(outcome: EventOutcome) -> str:
    if outcome.month_dropped is None:
        return "not readable"
    return "retention removed its month" if outcome.month_dropped else "erased"


def _entry_text(entry: FoundEntry, outcome: EventOutcome | None) -> str:
    parts = [f"entry {entry.entry_id}, published {_moment(entry.published_at)}"]
    if outcome is not None and outcome.decision_id is not None:
        same = entry.entry_id == outcome.entry_id
        parts.append("decided, about to leave the stream" if same else "a further entry: a duplicate")
    if entry.problem:
        parts.append(f"becomes a dead letter: {entry.problem}")
    if entry.state is EntryState.UNREAD:
        return ", ".join([*parts, "not read by a worker yet"])
    parts.append(f"lane {entry.lane}, position {entry.position} of {entry.lane_entries}")
    parts.append(f"hand-outs: {entry.starts}")
    if entry.read_s is not None:
        parts.append(f"read {entry.read_s:.0f} s ago")
    if entry.worker is None:
        parts.append("no worker owns the lane")
    elif entry.heartbeat_left_s is None:
        parts.append(f"worker {entry.worker} without a heartbeat")
    else:
        parts.append(f"worker {entry.worker}, heartbeat valid for another {entry.heartbeat_left_s:.1f} s")
    return ", ".join(parts)


def _reply_text(reply: EventReply) -> str:
    match reply_state(reply):
        case ReplyState.DELIVERED:
            return f"delivered {_moment(reply.delivered_at)}"
        case ReplyState.WAITING:
            until = f"; held back after {_moment(reply.send_before)}" if reply.send_before else ""
            return f"waits in the outbox since {_moment(reply.created_at)}{until}"
        case ReplyState.HELD_BACK:
            limit = _moment(reply.send_before)
            return f"held back {_moment(reply.cancelled_at)}: too late, the limit was {limit}"
        case ReplyState.CANCELLED:
            return f"cancelled {_moment(reply.cancelled_at)} {CANCELLED_BECAUSE[reply.cancel_reason]}"


def _retraction_text(retraction: EventRetraction) -> str:
    if retraction.delivered_at is not None:
        return f"sent to the channel {_moment(retraction.delivered_at)}"
    if retraction.cancelled_at is not None:
        return f"undone {_moment(retraction.cancelled_at)}"
    return f"requested {_moment(retraction.created_at)}, sent after {_moment(retraction.not_before)}"


def _exchange_text(outcome: EventOutcome, exchange: StoredExchange) -> str:
    match exchange_state(outcome, exchange):
        case ExchangeState.IN_HISTORY:
            return "in the stored history"
        case ExchangeState.RESTORED:
            return "restored by a reviewer: it was sealed, and is in the stored history again"
        case ExchangeState.SEALED:
            return f"sealed in quarantine until {_moment(exchange.sealed_until)}"
        case ExchangeState.REMOVED:
            return f"removed from the history by a reviewer, sealed until {_moment(exchange.sealed_until)}"
        case ExchangeState.NONE:
            return "not stored: never stored, expired, or erased"


def _moment(at: datetime | None) -> str:
    return "–" if at is None else f"{at:%Y-%m-%d %H:%M:%S}Z"
