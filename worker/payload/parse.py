"""The edge of the engine: raw bytes in, an Event or a PayloadRejected out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import ValidationError

from worker.displayed import revealed_text
from worker.errors import PayloadFault, PayloadRejected
from worker.expectations import expectation, place_of
from worker.model import TRACE_FIELDS, Event, EventType, Feedback
from worker.payload.attachments import image_urls
from worker.payload.hints import usable_hints
from worker.payload.json_object import json_kind, json_object, rejected, shown
from worker.payload.schema import EventPayload, FeedbackPayload, is_id

PAYLOAD_BYTES: Final = 262_144
"""Largest payload of an event, in bytes."""
EARLIEST: Final = datetime(2005, 1, 1, tzinfo=UTC)
MOST_NOTES: Final = 20
"""Most notes kept of one payload."""
FUTURE_SKEW: Final = timedelta(days=1)
CLOCK_SKEW: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Facts about a payload before it is parsed.

    Attributes:
        entry_id: the stream entry of the payload.
        size_bytes: true size; -1 when the entry has no field ``data``.
        received_at: when Redis took the entry, UTC.
    """

    entry_id: str
    size_bytes: int
    received_at: datetime


def parse(payload: bytes, arrival: Arrival) -> Event:
    """The event in a payload, plain or as CloudEvents 1.0 structured JSON.

    Raises:
        PayloadRejected: it cannot be an event; the error names the field, the expectation and what came.
    """
    if arrival.size_bytes < 0:
        raise rejected(PayloadFault.MISSING_DATA, "a stream field named data", "none")
    if arrival.size_bytes > PAYLOAD_BYTES:
        raise rejected(
            PayloadFault.TOO_LARGE, f"at most {PAYLOAD_BYTES} bytes", f"{arrival.size_bytes} bytes"
        )
    body = json_object(payload)
    if "specversion" in body:
        body = _unwrapped(body)
    notes: list[str] = []

    def note(path: str, expected: str, got: object) -> None:
        came = got if isinstance(got, str) else json_kind(got)
        notes.append(f"{shown(path)}: expected {expected}, got {shown(came)}")

    if body.get("feedback") is not None and body.get("type") != EventType.FEEDBACK:
        note("type", "feedback, as the event has feedback", body.get("type", "nothing"))
        body = {name: value for name, value in body.items() if name != "feedback"}
    checked = _validated(usable_hints(body, note))
    text = revealed_text(checked.text) or checked.text
    if text != checked.text:
        note("text", "visible characters", "hidden ones, which are decoded")
    return _event(checked, text, tuple(notes[:MOST_NOTES]), arrival)


def received_at(entry_id: str) -> datetime:
    """When Redis took the entry: the milliseconds before the dash; 1970 when a publisher chose its own id."""
    milliseconds = min(int(entry_id.partition("-")[0]), 253_402_300_799_000)
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)


def arrival_of(entry_id: str, size_bytes: int, now: datetime) -> Arrival:
    """The arrival of an entry; ``now`` for an id that a publisher chose, which holds no time."""
    received = received_at(entry_id)
    if not EARLIEST <= received <= now + CLOCK_SKEW:
        received = now
    return Arrival(entry_id=entry_id, size_bytes=size_bytes, received_at=received)


def _unwrapped(envelope: dict[str, Any]) -> dict[str, Any]:
    """The event inside a CloudEvents 1.0 envelope; the envelope's id and time are its defaults."""
    if envelope["specversion"] != "1.0":
        raise rejected(
            PayloadFault.INVALID, "'1.0'", shown(repr(envelope["specversion"])), field="specversion"
        )
    for name in ("id", "source", "type"):
        if not isinstance(envelope.get(name), str) or not envelope[name]:
            raise rejected(
                PayloadFault.INVALID, "a non-empty string", shown(repr(envelope.get(name))), field=name
            )
    inner = envelope.get("data")
    if not isinstance(inner, dict):
        raise rejected(PayloadFault.INVALID, "a JSON object", json_kind(inner), field="data.data")
    ours = {name: value for name, value in inner.items() if value is not None}
    defaults = {"event_id": _cloud_id(envelope["source"], envelope["id"]), "created_at": envelope.get("time")}
    known = {name: value for name, value in defaults.items() if value is not None} | ours
    return known | _with_trace(envelope, known)


def _with_trace(envelope: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The metadata with the attributes of the extension Distributed Tracing, unless it has a context."""
    found = {name: envelope[name] for name in TRACE_FIELDS if isinstance(envelope.get(name), str)}
    metadata = known.get("metadata", {})
    if "traceparent" not in found or not isinstance(metadata, dict) or "traceparent" in metadata:
        return {}
    return {"metadata": metadata | found}


def _cloud_id(source: str, event_id: str) -> str:
    """``source#id``: unique only together (CloudEvents 1.0); their SHA-256 when too long."""
    joined = f"{source}#{event_id}"
    return joined if is_id(joined) else hashlib.sha256(joined.encode()).hexdigest()


def _validated(body: dict[str, Any]) -> EventPayload:
    """The checked fields.

    The rejection has no cause: Pydantic's error hides its references from the garbage collector, so that a
    caller who keeps the rejection in a variable would keep the payload for ever.
    """
    try:
        return EventPayload.model_validate(body)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
    first, *further = (_wrong_field(each) for each in problems[:MOST_NOTES])
    first.further = tuple(further)
    raise first


def _wrong_field(problem: Any) -> PayloadRejected:
    field = place_of(problem["loc"]) or "data"
    return rejected(PayloadFault.INVALID, expectation(problem["msg"]), got_value(problem), field=field)


def got_value(error: Any) -> str:
    """What came, of one of Pydantic's errors; long texts as their length."""
    if error["type"] == "missing":
        return "nothing"
    value = error["input"]
    if error["type"] == "too_long":
        return f"{len(value)} items"
    if isinstance(value, str) and len(value) > 60:
        return f"{len(value)} characters"
    return shown(json.dumps(value, default=str))


def _event(payload: EventPayload, text: str, notes: tuple[str, ...], arrival: Arrival) -> Event:
    feedback = _feedback(payload)
    _check_text(payload, feedback)
    _check_time(payload.created_at, arrival.received_at)
    images, others = image_urls(payload.attachments)
    return Event(
        event_id=payload.event_id or arrival.entry_id,
        entry_id=arrival.entry_id,
        user_id=payload.user_id,
        scope=payload.scope,
        conversation_id=payload.conversation_id,
        message_id=payload.message_id,
        author_id=payload.author_id,
        text=text,
        created_at=payload.created_at.astimezone(UTC),
        received_at=arrival.received_at,
        language=payload.language,
        attachments=images,
        other_attachments=others,
        metadata=payload.metadata,
        type=_type(payload),
        parent_id=payload.parent_id,
        feedback=feedback,
        notes=notes,
    )


def _type(payload: EventPayload) -> EventType:
    found = payload.event_type
    return EventType.AGENT_MESSAGE if payload.role == "agent" and found is EventType.MESSAGE else found


def _feedback(payload: EventPayload) -> Feedback | None:
    if payload.event_type is not EventType.FEEDBACK:
        return None
    given = payload.feedback or FeedbackPayload()
    return Feedback(
        thumb=given.thumb, rating=given.rating, resolved=given.resolved, about=given.about or None
    )


def _check_text(payload: EventPayload, feedback: Feedback | None) -> None:
    if feedback is not None:
        if not (feedback.is_mark or payload.text):
            raise rejected(
                PayloadFault.INVALID, "thumb, rating, resolved or a text", "none of them", field="feedback"
            )
        return
    if (
        payload.text
        or payload.event_type is EventType.MESSAGE_DELETED
        or payload.attachments not in (None, [])
    ):
        return
    if "text" in payload.model_fields_set:
        raise rejected(PayloadFault.INVALID, "at least 1 character", '""', field="text")
    raise rejected(PayloadFault.INVALID, "a value, the field is required", "nothing", field="text")


def _check_time(created_at: datetime, received: datetime) -> None:
    if created_at < EARLIEST or created_at - max(received, EARLIEST) > FUTURE_SKEW:
        limits = f"a time from {EARLIEST:%Y-%m-%d} to one day after its arrival"
        raise rejected(PayloadFault.INVALID, limits, created_at.isoformat(), field="created_at")
