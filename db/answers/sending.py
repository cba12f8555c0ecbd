"""Storing a person's answer: audit, outbox, history and owner in one transaction, once per form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from db import access_log
from db.access_log import LogEntry
from db.answers.held import HeldText
from db.answers.records import EVENT_PREFIX, OF_THE_MODEL, Answer, AnswerOutcome, list_answers
from db.connection import Connection
from db.escalations.closing import Closing, ClosingCause, close_escalation
from db.history.conversation_owners import RELEASE
from db.outbox import LOCK_CONVERSATION
from db.pool import Pool, checkout
from worker.errors import RejectedError

LATEST_DELIVERY: Final = timedelta(days=1)
"""An answer that could not be delivered for so long is cancelled."""
STORE: Final = """
    INSERT INTO answers (id, decision_id, decision_at, user_id, conversation_id, message_id, scope, outcome,
                         text, draft, held_id, person_id, person, released, rules_version, checks, created_at)
    VALUES (%(answer_id)s, %(decision_id)s, %(decided_at)s, %(user_id)s, %(conversation_id)s, %(message_id)s,
            %(scope)s, %(outcome)s, %(text)s, %(shown)s, %(held_id)s, %(person_id)s, %(person)s,
            %(release)s, %(rules_version)s, %(checks)s, %(now)s)
    ON CONFLICT (id) DO NOTHING
"""
SEND: Final = """
    INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
                        draft, sources, send_before, metadata, disclosure, origin)
    VALUES (%(user_id)s, %(event_id)s, %(answer_id)s, %(conversation_id)s, %(message_id)s, %(scope)s,
            %(text)s, %(now)s, %(draft)s, %(sources)s, %(send_before)s, %(metadata)s, %(disclosure)s,
            'person')
"""
REMEMBER: Final = """
    INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at)
    VALUES (%(user_id)s, %(conversation_id)s, %(message_id)s, %(answer_id)s, 'assistant', %(text)s, %(now)s)
"""
"""The reply in the history, stored like a reply of the AI: edits and deletions treat both alike."""
STAY_WITH_PEOPLE: Final = """
    UPDATE conversations SET people_until = greatest(people_until, %(people_until)s)
    WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s AND people_until > %(now)s
        AND cause <> 'release'
"""
"""A person wrote: the idle time of a conversation that people own begins again."""
CHANGED: Final = """
    SELECT bool_or(reason_code = 'MESSAGE_DELETED'),
        (array_agg((snapshot_json ->> 'quarantined')::boolean ORDER BY created_at DESC, id DESC))[1]
    FROM ai_decisions
    WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s AND message_id = %(message_id)s
        AND created_at >= %(decided_at)s AND id <> %(decision_id)s
"""
"""Whether its author deleted the message since, and whether its newest edit is in quarantine."""


MOVED_ON: Final = """
    SELECT EXISTS (SELECT FROM conversations WHERE user_id = %(user_id)s
            AND conversation_id = %(conversation_id)s AND people_until > %(now)s AND cause <> 'release'),
        EXISTS (SELECT FROM ai_decisions WHERE user_id = %(user_id)s
            AND conversation_id = %(conversation_id)s AND created_at > %(decided_at)s
            AND id <> %(decision_id)s)
"""
"""Whether people own the conversation now, and whether another message of it was decided since."""


class AnswerConflict(RejectedError):
    """Another answer was stored meanwhile; nothing was stored.

    Attributes:
        answers: all answers to the decision, oldest first.
    """

    def __init__(self, answers: tuple[Answer, ...]) -> None:
        newest = answers[-1]
        super().__init__(f"answer: expected a message without an answer, got one by {newest.person}")
        self.answers = answers


class MessageGone(RejectedError):
    """The author deleted the message; nothing was stored."""


class MessageFlagged(RejectedError):
    """The author's edit of the message was flagged; nothing was stored."""


class ConversationMovedOn(RejectedError):
    """People own the conversation, or it has newer messages; nothing was stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredMessage:
    """The message that a person answers, from the AI's decision on it."""

    decision_id: UUID
    decided_at: datetime
    user_id: str
    conversation_id: str
    message_id: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAnswer:
    """An answer whose text passed the account's rules and moderation.

    Attributes:
        answer_id: made with the form, so that a form that is sent twice is stored once.
        seen: the newest answer on the person's page, None without one.
        text: None: dismissed.
        held: the text of the AI that the person was shown, None without one.
        release: the AI may answer in the conversation again.
        people_until: when a conversation that people own returns to the AI, without a release.
        checks: what the audit keeps of the moderation.
        disclosure: the account's text on AI, for a text of the model.
        only_if_last: refused when people own the conversation or it has newer messages.
    """

    answer_id: UUID
    message: AnsweredMessage
    seen: UUID | None
    outcome: AnswerOutcome
    text: str | None
    held: HeldText | None
    person_id: UUID | None
    person: str
    release: bool
    people_until: datetime
    rules_version: int
    checks: Mapping[str, Any]
    disclosure: str | None = None
    only_if_last: bool = False


async def store_answer(source: Pool, answer: NewAnswer, now: datetime, *, logged: LogEntry) -> bool:
    """Store an answer and what follows from it; False when the same form was stored before.

    Raises:
        AnswerConflict: another person answered, or this form was stored with another text.
        MessageGone: the author deleted the message, and the answer has a text.
        MessageFlagged: the author's edit was flagged, and the answer's text is the AI's.
        ConversationMovedOn: as ``only_if_last`` says.
        RejectedError: ``answer_id`` is that of an answer to another decision.
        StorageUnavailable: the outcome is unknown; safe to repeat with the same ``answer_id``.
    """
    values = _values(answer, now)
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LOCK_CONVERSATION, values)
        earlier = await list_answers(connection, answer.message.decision_id)
        if any(_is_repeated(each, answer) for each in earlier):
            return False
        if earlier and (earlier[-1].answer_id != answer.seen or not _may_follow(answer, earlier[-1])):
            raise AnswerConflict(earlier)
        if answer.only_if_last:
            await _refuse_moved_on(connection, values)
        if answer.text is not None:
            await _refuse_changed(connection, answer, values)
        if not (await connection.execute(STORE, values)).rowcount:
            raise RejectedError("answer_id: expected a new one, got that of another decision's answer")
        if answer.text is not None:
            await connection.execute(SEND, values)
            await connection.execute(REMEMBER, values)
            await connection.execute(STAY_WITH_PEOPLE, values)
        await close_escalation(connection, _closing(answer, now))
        if answer.release:
            await connection.execute(RELEASE, values)
            await close_escalation(connection, _released(answer, now))
        await access_log.append_entry(connection, logged)
    return True


def _is_repeated(stored: Answer, answer: NewAnswer) -> bool:
    same = (stored.text, stored.outcome, stored.person_id) == (answer.text, answer.outcome, answer.person_id)
    return stored.answer_id == answer.answer_id and same


def _may_follow(answer: NewAnswer, newest: Answer) -> bool:
    """Whether an answer may come after the newest one: that went nowhere, or was a dismissal."""
    return not newest.stands or (newest.dismissed and answer.text is not None)


async def _refuse_changed(connection: Connection, answer: NewAnswer, values: Mapping[str, Any]) -> None:
    """Refuse a text to a deleted message, and the AI's text to one whose edit was flagged since."""
    row = await (await connection.execute(CHANGED, values)).fetchone()
    deleted, flagged = row or (False, False)
    if deleted:
        raise MessageGone("message: expected one that its author did not delete, got a deleted one")
    if flagged and answer.held is not None and answer.outcome in OF_THE_MODEL:
        raise MessageFlagged(
            "message: its author's edit was flagged after the AI wrote this text, so the text is not sent;"
            " write an own answer, or dismiss the message"
        )


async def _refuse_moved_on(connection: Connection, values: Mapping[str, Any]) -> None:
    owned, newer = await (await connection.execute(MOVED_ON, values)).fetchone() or (False, False)
    if owned:
        raise ConversationMovedOn("conversation: expected one of the AI, got one that people own")
    if newer:
        raise ConversationMovedOn("message: expected the last one of its conversation, got newer ones")


def _closing(answer: NewAnswer, now: datetime) -> Closing:
    """A dismissal ends its message's own escalation; an answer, what was opened up to its message."""
    message, dismissed = answer.message, answer.text is None
    return Closing(
        user_id=message.user_id,
        conversation_id=message.conversation_id,
        cause=ClosingCause.REVIEWED if dismissed else ClosingCause.ANSWERED,
        closed_by=answer.person,
        now=now,
        only=message.decision_id if dismissed else None,
        up_to=message.decided_at,
    )


def _released(answer: NewAnswer, now: datetime) -> Closing:
    """The end of whatever else is open: the AI answers again."""
    message = answer.message
    return Closing(
        user_id=message.user_id,
        conversation_id=message.conversation_id,
        cause=ClosingCause.RELEASED,
        closed_by=answer.person,
        now=now,
    )


def _values(answer: NewAnswer, now: datetime) -> dict[str, Any]:
    message, held = answer.message, answer.held
    of_the_model = answer.outcome in OF_THE_MODEL and held is not None
    names = ("answer_id", "outcome", "text", "disclosure", "person_id", "person", "release", "people_until")
    same = {name: getattr(answer, name) for name in (*names, "rules_version")}
    return (
        asdict(message)
        | same
        | {
            "event_id": f"{EVENT_PREFIX}{answer.answer_id}",
            "shown": held.text if held else None,
            "held_id": held.held_id if held else None,
            "draft": held.draft if held and of_the_model else None,
            "sources": Jsonb(held.sources if held and of_the_model else []),
            "metadata": Jsonb(_metadata(answer)),
            "send_before": now + LATEST_DELIVERY,
            "changed_by": answer.person,
            "checks": Jsonb(dict(answer.checks)),
            "now": now,
        }
    )


def _metadata(answer: NewAnswer) -> dict[str, Any]:
    """The fields of the reply that come from the AI's text, and those on the person."""
    of_the_model = answer.held is not None and answer.outcome in OF_THE_MODEL
    found = dict(answer.held.metadata) if answer.held is not None and of_the_model else {}
    if answer.outcome is AnswerOutcome.EDITED and found.get("sentences"):
        kept = [each for each in found["sentences"] if each["text"] in (answer.text or "")]
        found |= {"sentences": kept}
    return found | {
        "sent_by_person": True,
        "edited_by_person": answer.outcome is AnswerOutcome.EDITED and found.get("model") is not None,
        "answered_decision_id": str(answer.message.decision_id),
    }
