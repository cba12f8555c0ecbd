"""Items of a golden set: a message, what surrounded it, and its label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import orjson

from worker.errors import RejectedError
from worker.model import Event, Message, Passage
from worker.stored_json import read_object

NOT_STORED: Final = UUID(int=0)
"""The id of an item that is to be added."""


class GoldenRejected(RejectedError):
    """A golden set or an item cannot be used; the message names field, expectation and what came."""


class Expected(StrEnum):
    """The label of an item; stored, never renamed.

    Attributes:
        ANSWER: an AI may answer the message.
        SILENT: an AI must not answer it.
    """

    ANSWER = "answer"
    SILENT = "silent"


class GoldenSource(StrEnum):
    """Where an item comes from; stored, never renamed."""

    DECISION = "decision"
    IMPORT = "import"
    EDITED_DRAFT = "edited_draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenContent:
    """The texts of an item.

    Attributes:
        history: earlier lines of the conversation, the oldest first.
        passages: what a search finds for it; None: the account's documents are searched.
        reply: a good answer, for people who read the item; it is not compared.
    """

    event: Event
    history: tuple[Message, ...] = ()
    passages: tuple[Passage, ...] | None = None
    reply: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenLabel:
    """What should be decided, and who says so.

    Attributes:
        reason: code of the reason with which a silent decision should end; None: any.
        labelled_by: people whose rulings or texts are the label, or who wrote the row.
    """

    expected: Expected
    reason: str | None = None
    labelled_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenItem:
    """An item of a golden set.

    Attributes:
        row_id: unique in its set: the id of its decision, or the one of its imported row.
        recorded_at: time of the decision; of an imported row when it was imported.
        decision_id: None for an imported row.
        item_id: ``NOT_STORED`` before it is stored.
    """

    row_id: str
    source: GoldenSource
    label: GoldenLabel
    content: GoldenContent
    recorded_at: datetime
    decision_id: UUID | None = None
    item_id: UUID = NOT_STORED


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenSet:
    """A set of labelled messages.

    Attributes:
        version: counts up with every change of its items, from 1.
        changed_at: of its items; when it was created without any.
        items: how many it has.
    """

    set_id: UUID
    user_id: str
    name: str
    purpose: str
    version: int
    created_by: str
    created_at: datetime
    changed_at: datetime
    items: int


def content_json(content: GoldenContent) -> dict[str, Any]:
    """The stored form.

    Raises:
        GoldenRejected: it holds a number that JSON cannot hold.
    """
    try:
        found: dict[str, Any] = orjson.loads(orjson.dumps(content, default=_plain))
    except (TypeError, ValueError) as error:
        raise GoldenRejected("item: expected values that JSON can hold, got others") from error
    return found


def content_of(stored: Mapping[str, Any]) -> GoldenContent:
    """The content of its stored form.

    Raises:
        GoldenRejected: it is damaged.
    """
    unreadable: list[str] = []
    found = read_object(GoldenContent, stored, "", unreadable)
    if unreadable:
        raise GoldenRejected(f"{unreadable[0] or 'item'}: expected a stored value, got a damaged one")
    return found


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"expected a value that JSON can hold, got {type(value).__name__}")
