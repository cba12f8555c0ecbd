"""Event payloads: plain, as CloudEvents, and as bodies of HTTP requests."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from fuzz.target import Target, require, require_storable
from gateway import batch
from gateway.intake import MOST_EVENTS
from review.http.visit import Refused
from worker.errors import PayloadRejected
from worker.model import Event
from worker.payload import Arrival, parse
from worker.payload.json_object import json_object

NOW: Final = datetime(2026, 11, 21, 10, tzinfo=UTC)
FIELDS: Final = (
    "event_id", "user_id", "scope", "conversation_id", "message_id", "author_id", "text", "type", "role",
    "parent_id", "created_at", "language", "attachments", "metadata",
)  # fmt: skip
EVENT: Final[dict[str, Any]] = {
    "event_id": "e1", "user_id": "shop", "scope": "chat", "conversation_id": "c1", "message_id": "m1",
    "author_id": "a1", "text": "Hello", "created_at": "2026-11-21T10:00:00Z",
}  # fmt: skip
EVENT_WORDS: Final = (
    *(f'"{name}":' for name in FIELDS), "{", "}", "[", "]", ",", '"', '"chat"', '"comment"', '"message"',
    '"agent_message"', '"message_edited"', '"message_deleted"', '"agent"', "null", "true", "1e999", "NaN",
    "\\u0000", "\\ud800", "\\udc00", "2026-11-21T10:00:00Z", "9999-12-31T23:59:60+14:00",
    "0001-01-01T00:00:00Z",
    "https://example.org/a.png", "18446744073709551616", '"traceparent":', '"labels":', "pt-BR",
)  # fmt: skip
CLOUD_WORDS: Final = (
    '"specversion":"1.0"', '"specversion":', '"id":"1"', '"source":"/s"', '"type":"t"', '"time":',
    '"data":', '"traceparent":', '"tracestate":',
)  # fmt: skip
ENVELOPE: Final = {"specversion": "1.0", "id": "1", "source": "/s", "type": "chat.message"}


def check_event(data: bytes) -> None:
    """An event or PayloadRejected, both storable; an event written again is read as the same one."""
    found = _parsed(data)
    if not isinstance(found, Event):
        return
    written = orjson.dumps({name: getattr(found, name) for name in FIELDS if name != "role"})
    require(_parsed(written) == replace(found, notes=()), "not the same event when written again", written)


def check_cloud_event(data: bytes) -> None:
    """The event in an envelope is the event without one."""
    found = _parsed(data)
    try:
        inner = json_object(data)
    except PayloadRejected:
        return
    if "specversion" in inner or None in inner.values() or not {"event_id", "created_at"} <= inner.keys():
        return
    wrapped = _parsed(json.dumps(ENVELOPE).encode()[:-1] + b', "data": ' + data + b"}")
    if isinstance(wrapped, PayloadRejected) and wrapped.code == "too_deep":
        return  # the envelope is one level more
    require(_outcome(wrapped) == _outcome(found), "another event in an envelope", wrapped, found)


def check_body(data: bytes) -> None:
    """Events or Refused; an array of one event is accepted exactly when the event is."""
    header, _, body = data.partition(b"\n")
    try:
        media = batch.media_type(header.decode("latin-1"), "")
    except Refused:
        media = batch.JSON
    try:
        found = batch.check(batch.split(body, media, MOST_EVENTS))
    except Refused as refused:
        require_storable(refused.text)
    else:
        again = batch.check([each.payload for each in found.events])
        require(again.events == found.events, "not the same events when sent again", found.events)
    alone = _parsed(body, received_at=datetime.now(UTC))  # that of a request
    try:
        elements = batch.split(b"[" + body + b"]", batch.JSON, most=1)
    except Refused:
        elements = []
    if len(elements) > 1:
        return
    checked = batch.check(elements)
    without_id = [(each.field, each.got) for each in checked.problems] == [("event_id", "nothing")]
    accepted = bool(checked.events) or without_id
    require(accepted is isinstance(alone, Event), "accepted in one form only", alone, body)


def _parsed(data: bytes, received_at: datetime = NOW) -> Event | PayloadRejected:
    arrival = Arrival(entry_id="1763712000000-0", size_bytes=len(data), received_at=received_at)
    try:
        found = parse(data, arrival)
    except PayloadRejected as error:
        require_storable([error.code, error.field, error.expected, error.got])
        return error
    require_storable([getattr(found, name) for name in FIELDS if name != "role"])
    return found


def _outcome(found: Event | PayloadRejected) -> object:
    return found if isinstance(found, Event) else (found.field, found.expected)


TARGETS: Final = (
    Target(
        name="events",
        about="A payload is an event or rejected; an event written again is the same event.",
        check=check_event,
        words=EVENT_WORDS,
        seeds=(
            orjson.dumps(EVENT),
            orjson.dumps(EVENT | {"attachments": ["https://a.example/b.png"], "metadata": {"labels": ["a"]}}),
        ),
    ),
    Target(
        name="cloud_events",
        about="An event in a CloudEvents envelope is the event without one.",
        check=check_cloud_event,
        words=CLOUD_WORDS + EVENT_WORDS,
        seeds=(orjson.dumps(ENVELOPE | {"data": EVENT}), orjson.dumps(EVENT)),
    ),
    Target(
        name="http_door",
        about="A body is events or refused; an array of one event is accepted exactly when the event is.",
        check=check_body,
        words=(
            "application/json\n",
            "application/x-ndjson\n",
            "application/cloudevents+json; a=b\n",
            *CLOUD_WORDS,
            *EVENT_WORDS,
        ),
        seeds=(
            b"application/json\n[" + orjson.dumps(EVENT) + b"]",
            b"application/x-ndjson\n" + orjson.dumps(EVENT) + b"\n" + orjson.dumps(EVENT),
            b"application/json\n" + orjson.dumps(EVENT),
        ),
    ),
)
