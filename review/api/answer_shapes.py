"""The bodies of the JSON API for held drafts and answers of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import ConfigDict, Field

from db.answers.waiting import WaitingItem
from review.answers.answerable import AnswerAction
from review.api.change_shapes import STRICT
from review.typed.kinds import Storable


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingBody:
    """What waits, the oldest first; ``next`` is the cursor of the next page, null at the end."""

    waiting: tuple[WaitingItem, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDraftBody:
    """A text of the AI that was not sent; ``kind`` is ``reply``, ``draft`` or ``recheck``.

    ``draft`` has the citation marks, and is null for a text that no model wrote. ``passages`` are those that
    the model was shown: ``id``, ``title``, ``text`` and ``sha256`` of the text.
    """

    id: int
    kind: str
    text: str
    draft: str | None
    sources: tuple[Mapping[str, Any], ...]
    passages: tuple[Mapping[str, str], ...]
    confidence: float | None
    tier: str | None
    metadata: Mapping[str, Any]
    send_before: datetime | None
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLine:
    """What a person did: ``unchanged``, ``edited``, ``replaced``, ``written`` or ``dismissed``.

    ``draft`` is the text of the AI beside it.
    """

    id: UUID
    decision_id: UUID
    outcome: str
    text: str | None
    draft: str | None
    person: str
    released: bool
    rules_version: int
    created_at: datetime
    delivered_at: datetime | None
    cancelled_at: datetime | None
    cancel_reason: str | None
    retracted_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftsBody:
    """Held drafts of a decision and the answers of people, oldest first.

    ``since`` says what happened in the conversation since: ``deleted``, ``people_answered``, ``ai_answered``,
    ``edited``, ``newer_message`` or null. ``covered`` names the categories that the token's owner, or the
    organisation, chose to cover: a program must not show these texts unasked. Empty: they may be shown.
    """

    decision_id: UUID
    answerable: bool
    covered: tuple[str, ...]
    since: str | None
    drafts: tuple[HeldDraftBody, ...]
    answers: tuple[AnswerLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBody:
    """The answer to a decision's message: a held draft as it is or changed, an own text, or nothing.

    ``draft`` is for approve and edit: ``id`` of the held draft; by default the first. ``text`` is for edit
    and write. ``seen`` is the newest answer that the program knows, null: none. A request that is repeated
    with its ``answer_id``, a new UUID, is stored once. ``release`` gives the conversation back to the AI.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    action: AnswerAction
    draft: Annotated[int, Field(ge=1, lt=2**63)] | None = None
    text: Storable = ""
    seen: UUID | None = None
    answer_id: UUID | None = None
    release: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStored:
    """The answer that was stored."""

    answer: AnswerLine
