"""Where and what an author wrote: an event and the lines of its conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Scope(StrEnum):
    """Where the author wrote."""

    CHAT = "chat"
    COMMENT = "comment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One inbound chat message or comment, as parsed.

    Attributes:
        event_id: the publisher's idempotency key, unique per account; the stream entry id when none came.
        entry_id: id of the stream entry that carried it, such as ``1763761234567-0``.
        user_id: the account whose inbox it is.
        author_id: who wrote it.
        text: 1 to ``Limits.text_chars`` characters, no NUL.
        created_at: when the author wrote it, UTC.
        received_at: when the entry reached Redis, UTC; a hold counts from here.
        language: BCP 47 tag as the publisher gave it, or None.
        attachments: image URLs, at most 16.
        metadata: the publisher's JSON object; only ``labels`` in it is interpreted, see retrieval.
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
    metadata: Mapping[str, Json] = field(default_factory=dict)

    @property
    def written_at(self) -> datetime:
        """Latest possible time of writing: the earlier of ``created_at`` and the arrival."""
        return min(self.created_at, self.received_at)


class MessageRole(StrEnum):
    """Who wrote a stored line: an author, or we."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One stored line of a conversation."""

    role: MessageRole
    text: str
