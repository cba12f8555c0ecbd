"""Who may answer in a conversation, what is known of its author, and what came meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from worker.model.event import EventType


class Owner(StrEnum):
    """Who may answer in a conversation."""

    AI = "ai"
    PEOPLE = "people"


class StaleReply(StrEnum):
    """What an account wants for a reply when a newer message came during its making."""

    DISCARD = "discard"
    SEND = "send"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewerEvent:
    """An event that waits behind another one of its conversation.

    Attributes:
        edited_text: the new text of an edit; empty for other events.
        written_at: by the publisher's clock, as edits are compared.
    """

    event_id: str
    type: EventType
    message_id: str
    author_id: str
    received_at: datetime
    written_at: datetime
    edited_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationState:
    """Who owned a conversation when its event's turn came, and what was known of the event's message.

    Attributes:
        changes: how often the owner changed, 0 for a conversation that people never took over.
        decided_as: another event of the same message that has a decision, or None.
        edited_at: when the author made the newest known edit of the message, or None.
        deleted: whether the message is known to be deleted.
        strikes: as ``Author.strikes``; None where no rule of the account reads it.
        messages_1h: as ``Author.messages_1h``; likewise.
        rated: of feedback, the event whose reply is rated; None: not decided yet, or unknown.
        rated_first: whether feedback about the message came before the message.
    """

    owner: Owner = Owner.AI
    changes: int = 0
    decided_as: str | None = None
    edited_at: datetime | None = None
    deleted: bool = False
    strikes: int | None = None
    messages_1h: int | None = None
    rated: str | None = None
    rated_first: bool = False


AI_ONLY: Final = ConversationState()
"""A conversation that people never had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The author of a message in its account; None for what is not known.

    Attributes:
        strikes: messages that rules or moderation flagged for their text within the last 30 days.
        messages_1h: events decided within the last hour, at most 1,000.
        role: as the publisher names it, such as ``moderator``.
        account_age_days: age of the author's login at the channel.
    """

    strikes: int | None = None
    messages_1h: int | None = None
    role: str | None = None
    account_age_days: float | None = None


UNKNOWN_AUTHOR = Author()
"""No condition about an author holds."""
