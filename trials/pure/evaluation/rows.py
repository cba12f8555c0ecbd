"""Items as lines of NDJSON: what `hushgate trials golden import` reads and `export` writes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError

from trials.pure.evaluation.items import (
    Expected,
    GoldenContent,
    GoldenItem,
    GoldenLabel,
    GoldenRejected,
    GoldenSource,
)
from worker.errors import PayloadRejected
from worker.expectations import expectation, place_of
from worker.model import Event, Message, MessageRole, Passage
from worker.payload import ACCOUNT_CHARS, Arrival, got_value, no_json, parse
from worker.payload.schema import Identifier
from worker.reasons import Reason

LINE_BYTES: Final = 2_000_000
HISTORY_LINES: Final = 200
PASSAGES: Final = 50
SPEAKERS: Final = {"author": MessageRole.USER, "ai": MessageRole.ASSISTANT, "person": MessageRole.AGENT}
"""Who wrote a line of the history, as rows name them."""
NAMES: Final = {role: name for name, role in SPEAKERS.items()}
FIELDS_OF_EVENT: Final = (
    "text", "scope", "language", "conversation_id", "author_id", "message_id", "attachments", "metadata",
    "parent_id",
)  # fmt: skip

Text = Annotated[str, StringConstraints(min_length=1, max_length=100_000, pattern=r"^[^\x00]*$")]


class HistoryRow(BaseModel):
    """One earlier line of the conversation."""

    model_config = ConfigDict(extra="forbid", strict=True)

    role: Annotated[str, StringConstraints(pattern="^(author|ai|person)$")]
    text: Text


class PassageRow(BaseModel):
    """A passage that a search finds."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Identifier
    text: Text
    title: Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")] = ""
    similarity: Annotated[float, Field(ge=0, le=1, strict=False)] = 1.0
    labels: dict[str, str] = Field(default_factory=dict)


class GoldenRow(BaseModel):
    """One line; the fields of the message are those of an event, see ``docs/event.schema.json``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    expected: Annotated[Expected, Field(strict=False)]
    id: Identifier | None = None
    reason: Annotated[Reason, Field(strict=False)] | None = None
    labelled_by: Annotated[str, StringConstraints(max_length=ACCOUNT_CHARS, pattern=r"^[^\x00]*$")] = ""
    reply: Text | None = None
    history: Annotated[list[HistoryRow], Field(max_length=HISTORY_LINES)] = Field(default_factory=list)
    passages: Annotated[list[PassageRow], Field(max_length=PASSAGES)] | None = None
    text: JsonValue = None
    scope: JsonValue = "chat"
    language: JsonValue = None
    conversation_id: JsonValue = None
    author_id: JsonValue = None
    message_id: JsonValue = None
    parent_id: JsonValue = None
    created_at: JsonValue = None
    attachments: JsonValue = Field(default_factory=list)
    metadata: JsonValue = Field(default_factory=dict)


def imported_row(line: bytes, user_id: str, now: datetime) -> GoldenItem:
    """The item of a line; without an id it is named by a hash of the line, without a time it is of ``now``.

    Conversation, message and author without an id are named as the row.

    Raises:
        GoldenRejected: a field is wrong.
    """
    if len(line) > LINE_BYTES:
        raise GoldenRejected(f"line: expected at most {LINE_BYTES} bytes, got {len(line)}")
    try:
        row = GoldenRow.model_validate(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        raise GoldenRejected(f"line: expected a JSON object, got {no_json(error)}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = place_of(first["loc"]) or "line"
        raise GoldenRejected(
            f"{field}: expected {expectation(first['msg'])}, got {got_value(first)}"
        ) from None
    if row.reason is not None and row.expected is Expected.ANSWER:
        raise GoldenRejected(f"reason: expected none beside an answer, got {row.reason}")
    row_id = row.id or hashlib.sha256(line.strip()).hexdigest()[:16]
    content = GoldenContent(
        event=_event(row, row_id, user_id, now),
        history=tuple(Message(role=SPEAKERS[each.role], text=each.text) for each in row.history),
        passages=None if row.passages is None else tuple(map(_passage, row.passages)),
        reply=row.reply,
    )
    label = GoldenLabel(expected=row.expected, reason=row.reason, labelled_by=row.labelled_by)
    return GoldenItem(
        row_id=row_id, source=GoldenSource.IMPORT, label=label, content=content, recorded_at=now
    )


def row_json(item: GoldenItem) -> dict[str, Any]:
    """An item as a line that can be imported again; fields without a value are left out."""
    event, content = item.content.event, item.content
    of_event = {name: getattr(event, name) for name in FIELDS_OF_EVENT} | {"created_at": event.created_at}
    passages = content.passages
    found = {
        "id": item.row_id,
        "expected": item.label.expected,
        "reason": item.label.reason,
        "labelled_by": item.label.labelled_by,
        "reply": content.reply,
        **of_event,
        "history": [{"role": NAMES[each.role], "text": each.text} for each in content.history],
    }
    kept = {name: value for name, value in found.items() if value not in (None, "", (), [], {})}
    if passages is not None:
        kept["passages"] = [_passage_row(each) for each in passages]
    return kept


def _event(row: GoldenRow, row_id: str, user_id: str, now: datetime) -> Event:
    given = {name: getattr(row, name) for name in (*FIELDS_OF_EVENT, "created_at")}
    named = {
        "conversation_id": row_id,
        "message_id": row_id,
        "author_id": row_id,
        "created_at": now.isoformat(),
    }
    body = named | {name: value for name, value in given.items() if value is not None}
    body |= {"event_id": row_id, "user_id": user_id}
    payload = orjson.dumps(body)
    arrival = Arrival(entry_id="0-0", size_bytes=len(payload), received_at=now)
    try:
        event = parse(payload, arrival)
    except PayloadRejected as error:
        raise GoldenRejected(f"{error.field}: expected {error.expected}, got {error.got}") from None
    return event


def _passage(row: PassageRow) -> Passage:
    return Passage(
        passage_id=row.id, title=row.title, text=row.text, similarity=row.similarity, metadata=row.labels
    )


def _passage_row(passage: Passage) -> Mapping[str, Any]:
    found = {"id": passage.passage_id, "title": passage.title, "text": passage.text}
    return found | {"similarity": passage.similarity, "labels": dict(passage.metadata)}
