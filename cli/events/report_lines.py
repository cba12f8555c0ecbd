"""``hushgate explain``: a report in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from cli.events.event_report import EventReport, ExchangeState, ReplyState, exchange_state, reply_state
from db.audit.decision_context import RetractionRecord
from db.audit.event_records import (
    EventAnswer,
    EventConversation,
    EventDecision,
    EventOutcome,
    EventReply,
    EventTexts,
    JudgedSentence,
    StoredExchange,
)
from review.decision.judge_reading import VERDICTS
from tasks.lanes.lookup import EntryState, FoundEntry
from worker.model import Owner
from worker.snapshot import SnapshotCheck


def report_lines(report: EventReport) -> Iterator[tuple[str, str]]:
    """Part and sentence, in the order in which an event travels."""
    yield "account", report.user_id or "unknown"
    for entry in report.entries:
        yield "stream", _entry_text(entry, report.outcome)
    if report.problem:
        yield "problem", report.problem
    yield from ((f"unknown: {part}", reason) for part, reason in report.unknown.items())
    for letter in report.letters:
        yield (
            "dead letter",
            f"entry {letter.entry_id}, {letter.reason_code}: {letter.field}: expected {letter.expected},"
            f" got {letter.got} ({_moment(letter.created_at)})",
        )
    if report.outcome is not None:
        yield from _outcome_lines(report.outcome)


def _outcome_lines(outcome: EventOutcome) -> Iterator[tuple[str, str]]:
    if outcome.texts is not None:
        yield from _text_lines(outcome.texts)
    if outcome.decision is not None:
        yield from _decision_lines(outcome.decision)
    elif outcome.decision_id is not None:
        yield "decision", f"id {outcome.decision_id}, {_missing_text(outcome)}"
    if outcome.duplicates:
        yield "duplicates", f"{outcome.duplicates} further stream entries with the same event id"
    if outcome.reply is not None:
        yield "delivery", _reply_text(outcome.reply)
    for answer in outcome.answers:
        yield "answer", _answer_text(answer)
    if outcome.retraction is not None:
        yield "retraction", _retraction_text(outcome.retraction)
    if outcome.conversation is not None:
        yield "conversation", _owner_text(outcome.conversation)
    if outcome.exchange is not None:
        yield "exchange", _exchange_text(outcome, outcome.exchange)


def _decision_lines(decision: EventDecision) -> Iterator[tuple[str, str]]:
    yield "decision", f"{decision.decision} because {decision.reason_code}: {decision.reason}"
    yield "", f"{_moment(decision.created_at)}, id {decision.id}"
    yield (
        "",
        f"settings version {decision.settings_version}, assessment policy {decision.policy or 'none'}",
    )
    if decision.matched_rule is not None:
        yield "", f"matched rule {decision.matched_rule}"
    if decision.checked is not None:
        yield "verdict", _verdict_text(decision.checked)
    if decision.stages:
        yield "stages", ", ".join(decision.stages)
    for each in decision.failed_calls:
        yield (
            "",
            f"{each.stage}: {each.failed} failed attempts, the last {each.last},"
            f" {each.duration_s:.0f} s in total",
        )


def _verdict_text(checked: SnapshotCheck) -> str:
    if checked.would is None:
        return checked.verdict
    why = "the check could not be made, its token lets texts pass" if checked.failed_open else "shadow mode"
    return f"{checked.verdict} in place of {checked.would}: {why}"


def _text_lines(texts: EventTexts) -> Iterator[tuple[str, str]]:
    yield "message", texts.message
    if texts.disclosure is not None:
        yield "disclosure", texts.disclosure
    if texts.reply is not None:
        yield "reply", texts.reply
    if texts.held is not None:
        yield "not sent", texts.held
    if texts.passages:
        yield "passages", ", ".join(texts.passages)
    for each in texts.decided_by:
        found = [VERDICTS.get(each.verdict, each.verdict), *each.disagreements]
        found += [] if each.support is None else [f"support {each.support:.2f}"]
        found += _quoted(each)
        yield "decided by", f"“{each.text}”: {', '.join(found)}"


def _quoted(judged: JudgedSentence) -> tuple[str, ...]:
    """The quotes with the titles of their passages; of a text that was not sent the titles alone."""
    if not judged.passages:
        return ()
    words, titles = "”, “".join(judged.quotes), ", ".join(judged.passages)
    return (f"quotes “{words}” of {titles}" if words else f"quotes the passages {titles}",)


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


CANCELLED_BECAUSE: Final[Mapping[str | None, str]] = {
    None: "by a reviewer",
    "taken_over": "because people took the conversation",
    "message_deleted": "because the author deleted the message",
    "message_flagged": "because the author edited the message and the new text was flagged",
}


def _reply_text(reply: EventReply) -> str:
    match reply_state(reply):
        case ReplyState.DELIVERED:
            lost = f" as decision {reply.sent_as}, which the database lost; its text may differ"
            return f"delivered {_moment(reply.delivered_at)}{lost if reply.sent_as else ''}"
        case ReplyState.WAITING:
            until = f"; held back after {_moment(reply.send_before)}" if reply.send_before else ""
            return f"waits in the outbox since {_moment(reply.created_at)}{until}"
        case ReplyState.HELD_BACK:
            limit = _moment(reply.send_before)
            return f"held back {_moment(reply.cancelled_at)}: too late, the limit was {limit}"
        case ReplyState.CANCELLED:
            return f"cancelled {_moment(reply.cancelled_at)} {CANCELLED_BECAUSE[reply.cancel_reason]}"


def _answer_text(answer: EventAnswer) -> str:
    done = f"{answer.outcome} by {answer.person} {_moment(answer.created_at)}"
    if answer.outcome == "dismissed":
        return f"{done}, nothing was sent"
    if answer.delivered_at is not None:
        return f"{done}, delivered {_moment(answer.delivered_at)}"
    if answer.cancelled_at is not None:
        return f"{done}, cancelled {_moment(answer.cancelled_at)}"
    return f"{done}, {'waits in the outbox' if answer.in_outbox else 'its delivery is no longer stored'}"


def _retraction_text(retraction: RetractionRecord) -> str:
    if retraction.delivered_at is not None:
        return f"sent to the channel {_moment(retraction.delivered_at)}"
    if retraction.cancelled_at is not None:
        return f"undone {_moment(retraction.cancelled_at)}"
    return f"requested {_moment(retraction.created_at)}, sent after {_moment(retraction.not_before)}"


def _owner_text(conversation: EventConversation) -> str:
    if conversation.owner == Owner.PEOPLE:
        return (
            f"people own it since {_moment(conversation.changed_at)} ({conversation.cause}),"
            f" until {_moment(conversation.people_until)} at least"
        )
    return f"the AI owns it; people had it until {_moment(conversation.people_until)}"


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
            return "not stored: never stored, expired or erased, or changed later by an edit or a deletion"


def _moment(at: datetime | None) -> str:
    return "–" if at is None else f"{at:%Y-%m-%d %H:%M:%S}Z"
