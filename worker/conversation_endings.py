"""The conversation contract: one conversation, one voice. Who may answer, and which reply came too late."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from worker import endings, held_texts
from worker.assessment import is_finished_question, needs_no_answer
from worker.business_hours import next_opening
from worker.endings import Ending
from worker.model import (
    Account,
    ConversationState,
    Decision,
    DecisionKind,
    Event,
    EventType,
    Message,
    NewerEvent,
    Owner,
    StaleReply,
)
from worker.reasons import Reason
from worker.scope import last_moment

FOR_EVER = timedelta(days=36_500)
FINISHED_SHARE = 1 / 3
"""Part of the window that a finished question waits."""


def ending_of_type(event: Event) -> Ending | None:
    """The ending of an event that no guard tests, else None."""
    match event.type:
        case EventType.MESSAGE | EventType.MESSAGE_EDITED | EventType.FEEDBACK | EventType.CHECK:
            return None
        case EventType.AGENT_MESSAGE:
            code, sentence = Reason.AGENT_MESSAGE, "a person of the team wrote; people own the conversation"
        case EventType.MESSAGE_DELETED:
            code, sentence = Reason.MESSAGE_DELETED, "the author deleted an earlier message"
    return endings.silent_ending(code, sentence)


def earlier_ending(event: Event, conversation: ConversationState) -> Ending | None:
    """The ending of an event that earlier events of the same message have settled, else None."""
    match event.type:
        case EventType.MESSAGE | EventType.AGENT_MESSAGE if conversation.decided_as is not None:
            sentence = f"event {conversation.decided_as} of the same message has a decision"
            return endings.silent_ending(Reason.MESSAGE_REPEATED, sentence)
        case EventType.MESSAGE if conversation.deleted:
            return endings.silent_ending(Reason.MESSAGE_WITHDRAWN, "the author had deleted the message")
        case EventType.MESSAGE if conversation.edited_at is not None and not event.edited_first:
            return _outdated("an edit that came first is not in the history")
        case EventType.MESSAGE_EDITED if conversation.deleted:
            return _outdated("the message is deleted")
        case EventType.MESSAGE_EDITED if _is_older(event.created_at, conversation.edited_at):
            return _outdated("a newer edit of the message came first")
    return None


def _is_older(written: datetime, known: datetime | None) -> bool:
    return known is not None and written < known


def _outdated(why: str) -> Ending:
    return endings.silent_ending(Reason.CHANGE_OUTDATED, why)


def feedback_ending(event: Event, conversation: ConversationState) -> Ending | None:
    """The ending of feedback, else None."""
    if event.feedback is None:
        return None
    if conversation.rated is not None:
        sentence = f"the author rated the reply to event {conversation.rated}: {event.feedback.marks}"
        return endings.silent_ending(Reason.FEEDBACK, sentence)
    name, value = (
        ("feedback.about", event.feedback.about) if event.feedback.about else ("message_id", event.message_id)
    )
    sentence = f"{name}: expected a message decided in this conversation, got {value}"
    return endings.silent_ending(Reason.FEEDBACK_UNMATCHED, sentence)


def edited_ending(event: Event) -> Ending | None:
    """The ending of an edit whose new text passed the guards, else None."""
    if event.type is not EventType.MESSAGE_EDITED:
        return None
    return endings.silent_ending(Reason.MESSAGE_EDITED, "the author edited an earlier message")


def owned_ending(event: Event, conversation: ConversationState) -> Ending | None:
    """The ending of an event while people own its conversation, so that no model call is paid, else None."""
    if conversation.owner is Owner.AI:
        return None
    return edited_ending(event) or endings.silent_ending(
        Reason.OWNED_BY_PEOPLE, "people own the conversation"
    )


def acknowledged_ending(event: Event, history: Sequence[Message]) -> Ending | None:
    """The ending of a message that only acknowledges the lines before it, else None."""
    if not needs_no_answer(event, history):
        return None
    return endings.silent_ending(Reason.ACKNOWLEDGED, "the message needs no answer")


def overtaken_ending(event: Event, newer: Collection[NewerEvent], account: Account) -> Ending | None:
    """The ending of a reply when events came during its making, else None.

    A person's message, the deletion of the answered message and an author's next message within the window
    always discard the reply; a later one of the author does when the account wants that.
    """
    if (ending := merged_ending(event, newer, account)) is not None:
        return ending
    if _further(event, newer) and account.stale_reply is StaleReply.DISCARD:
        return endings.silent_ending(Reason.SUPERSEDED, "the author wrote again while the reply was made")
    return None


def burst_wait_s(event: Event, account: Account, now: datetime) -> float:
    """Seconds that a message still waits for its author's next message; 0 for one older than the wait.

    A finished question waits for a part of the window; a reply made in the rest of it is still discarded by
    the author's next message.
    """
    wait_s = account.burst_window_s * (FINISHED_SHARE if is_finished_question(event.text) else 1)
    age_s = (now - event.received_at).total_seconds()
    return min(max(wait_s - age_s, 0.0), wait_s)


def merged_ending(event: Event, newer: Collection[NewerEvent], account: Account) -> Ending | None:
    """The ending of a message when its author's next one came within the window, else None.

    The arrival of the next one counts, not the worker's time, so a backlog is merged as live messages are.
    """
    if (ending := _forestalled_ending(event, newer)) is not None:
        return ending
    following = next(iter(_further(event, newer)), None)
    window = timedelta(seconds=account.burst_window_s)
    if not window or event.type is not EventType.MESSAGE:
        return None
    if following is None or following.received_at - event.received_at > window:
        return None
    sentence = f"answered with the author's next message, {following.message_id}"
    return replace(endings.silent_ending(Reason.BURST_MERGED, sentence), answered_event=following.event_id)


def edited_meanwhile(
    event: Event, conversation: ConversationState, newer: Collection[NewerEvent]
) -> Ending | None:
    """The ending of a message whose author changed its text while the answer was made, else None."""
    edits = [
        each
        for each in newer
        if each.type is EventType.MESSAGE_EDITED
        and each.message_id == event.message_id
        and not _is_older(each.written_at, conversation.edited_at)
    ]
    newest = max(edits, key=lambda each: each.written_at, default=None)
    words = newest.edited_text.split() if newest and event.type is EventType.MESSAGE else []
    if newest is None or not words or words == event.text.split():
        return None
    ending = endings.silent_ending(Reason.SUPERSEDED, "the author edited it while the reply was made")
    return replace(ending, edited_text=newest.edited_text)


def _forestalled_ending(event: Event, newer: Collection[NewerEvent]) -> Ending | None:
    """The ending of an event that must not be answered any more, whatever the account wants, else None."""
    if any(each.type is EventType.AGENT_MESSAGE for each in newer):
        return taken_over()
    if event.message_id in _deleted(newer):
        return endings.silent_ending(
            Reason.MESSAGE_WITHDRAWN, "the author deleted it while the reply was made"
        )
    return None


def _messages(newer: Collection[NewerEvent]) -> tuple[NewerEvent, ...]:
    """The messages that may be answered; those deleted meanwhile will not be."""
    deleted = _deleted(newer)
    return tuple(each for each in newer if each.type is EventType.MESSAGE and each.message_id not in deleted)


def _further(event: Event, newer: Collection[NewerEvent]) -> tuple[NewerEvent, ...]:
    """The author's further messages, without other events of the same message."""
    return tuple(
        each
        for each in _messages(newer)
        if each.author_id == event.author_id and each.message_id != event.message_id
    )


def _deleted(newer: Collection[NewerEvent]) -> frozenset[str]:
    return frozenset(each.message_id for each in newer if each.type is EventType.MESSAGE_DELETED)


def taken_over() -> Ending:
    """The ending of a reply that people forestalled."""
    return endings.silent_ending(Reason.TAKEN_OVER, "people took the conversation while the reply was made")


def people_until(
    event: Event, account: Account, kind: DecisionKind, now: datetime, *, repeated: bool = False
) -> datetime | None:
    """When the conversation returns to the AI after this event hands it to people; None without a handoff.

    The idle time of an escalation begins when the account's people are there to answer it. A repeated message
    hands over nothing.
    """
    if repeated:
        return None
    written = event.type is EventType.AGENT_MESSAGE
    if kind is not DecisionKind.ESCALATE and not written:
        return None
    if written and _is_over(event, account, now):
        return None  # a backfill
    return idle_end(account, now if written else next_opening(account, now))


def _is_over(event: Event, account: Account, now: datetime) -> bool:
    """Whether the idle time after this message ended before now.

    Of a message that is not too old for a reply the later time counts: a clock may be slow.
    """
    is_live = now <= last_moment(event, account)
    began = max(event.created_at, event.received_at) if is_live else event.written_at
    return account.people_idle_s > 0 and idle_end(account, began) <= now


def idle_end(account: Account, now: datetime) -> datetime:
    """When a conversation returns to the AI if people write nothing more in it."""
    return now + (timedelta(seconds=account.people_idle_s) if account.people_idle_s else FOR_EVER)


def without_reply(decision: Decision) -> Decision:
    """The decision with its reply discarded, because people took the conversation before it was stored."""
    ending = taken_over()
    return replace(
        decision,
        kind=ending.reason_code.spec.decision,
        reason_code=ending.reason_code,
        reason=ending.reason,
        confidence=ending.confidence,
        reply=None,
        draft=None,
        sources=(),
        disclosure=None,
        held=held_texts.with_reply(decision),
        overtaken=True,
    )
