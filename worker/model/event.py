"""Where and what an author wrote: an event and the lines of its conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from worker.model.feedback import Feedback

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Scope(StrEnum):
    """Where the author wrote."""

    CHAT = "chat"
    COMMENT = "comment"


class EventType(StrEnum):
    """What happened in the conversation.

    Attributes:
        MESSAGE: an author wrote; the only type that an AI may answer.
        AGENT_MESSAGE: a person of the account's team wrote; the conversation then belongs to people.
        MESSAGE_EDITED: an author changed an earlier message; ``text`` is the new text.
        MESSAGE_DELETED: an author deleted an earlier message.
        FEEDBACK: an author rated the reply to an earlier message; ``text`` is a remark, or empty.
        CHECK: a program asks whether its own message or draft may pass; no publisher can send it.
    """

    MESSAGE = "message"
    AGENT_MESSAGE = "agent_message"
    MESSAGE_EDITED = "message_edited"
    MESSAGE_DELETED = "message_deleted"
    FEEDBACK = "feedback"
    CHECK = "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCheck:
    """What a program wants checked beside the message.

    Attributes:
        draft: what it wants to send; None: the message alone is checked.
        is_assessed: whether passages were given or are searched, so that the draft is assessed.
    """

    draft: str | None = None
    is_assessed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One inbound event of a conversation, as parsed: most often a chat message or comment.

    Attributes:
        event_id: the publisher's idempotency key, unique per account; the stream entry id when none came.
        entry_id: id of the stream entry that carried it, such as ``1763761234567-0``.
        user_id: the account whose inbox it is.
        author_id: who wrote it.
        text: 1 to ``worker.payload.schema.TEXT_CHARS`` characters, no NUL; may be empty for a deletion,
            with an attachment, and with marks.
        created_at: when the author wrote it, UTC.
        received_at: when the entry reached Redis, UTC; a hold counts from here.
        language: BCP 47 tag as the publisher gave it, or None.
        attachments: image URLs, at most 16.
        other_attachments: how many more it has: other files, unusable URLs, images beyond the 16th.
        metadata: the publisher's JSON object; ``labels``, see retrieval, ``author``, see rules, and the trace
            context in it are interpreted.
        parent_id: the message or comment that this one answers, or None.
        feedback: of the type feedback, what the author says about the reply; else None.
        edited_first: whether an edit of the message came before it; ``text`` is then the edit's.
        notes: what of the payload was left out or changed, one sentence each: unusable hints, hidden text.
        check: of the type ``check``, else None.
    """

    event_id: str
    entry_id: str
    user_id: str
    scope: Scope
    conversation_id: str
    message_id: str
    author_id: str
    text: str
    created_at: datetime
    received_at: datetime
    language: str | None = None
    attachments: tuple[str, ...] = ()
    other_attachments: int = 0
    metadata: Mapping[str, Json] = field(default_factory=dict)
    type: EventType = EventType.MESSAGE
    parent_id: str | None = None
    feedback: Feedback | None = None
    edited_first: bool = False
    notes: tuple[str, ...] = ()
    check: GivenCheck | None = None

    @property
    def searched_text(self) -> str:
        """What documents are searched for: the text; of a check without a message its draft."""
        return self.text or (self.check.draft if self.check else None) or ""

    @property
    def written_at(self) -> datetime:
        """Latest possible time of writing: the earlier of ``created_at`` and the arrival."""
        return min(self.created_at, self.received_at)


class MessageRole(StrEnum):
    """Who wrote a stored line: an author, the AI, or a person of the account's team."""

    USER = "user"
    ASSISTANT = "assistant"
    AGENT = "agent"


class WriterSign(StrEnum):
    """What a message says about its writer.

    Attributes:
        HUMAN: nothing speaks against a person.
        MACHINE: an automatic reply, or a message that repeats itself as an answer to the AI.
        LOOP: of a machine; the exchange with it ended here.
    """

    HUMAN = "human"
    MACHINE = "machine"
    LOOP = "loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One stored line of a conversation.

    Attributes:
        at: when the decision that stored the line was made; None where that is not known.
        sign: of a user's line, what it said about its writer; None where that was not looked at.
    """

    role: MessageRole
    text: str
    at: datetime | None = field(default=None, compare=False)
    sign: WriterSign | None = field(default=None, compare=False)
