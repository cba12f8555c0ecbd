"""The edge: what becomes an event, and with which words the rest is refused."""

from __future__ import annotations

import gc
import json
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from worker.errors import PayloadRejected
from worker.model import Event, EventType, Scope
from worker.payload import Arrival, parse, received_at

ARRIVED = datetime(2026, 11, 21, 12, tzinfo=UTC)
LIMIT = 262_144
EVENT: dict[str, Any] = {
    "event_id": "e1",
    "user_id": "acme",
    "scope": "chat",
    "conversation_id": "c1",
    "message_id": "m1",
    "author_id": "a1",
    "text": "When are you open?",
    "created_at": "2026-11-21T10:00:00+07:00",
}
ENVELOPE: dict[str, Any] = {
    "specversion": "1.0",
    "id": "cloud-1",
    "source": "/shop",
    "type": "message.created",
    "time": "2026-11-21T09:00:00Z",
}
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "event.schema.json").read_text())


def read(payload: bytes, *, size: int | None = None) -> Event:
    """Parse as a worker does."""
    size_bytes = len(payload) if size is None else size
    arrival = Arrival(entry_id="1795262400000-0", size_bytes=size_bytes, received_at=ARRIVED)
    return parse(payload, arrival)


def body(**changes: Any) -> bytes:
    """A valid event with these fields changed; ``...`` removes a field."""
    changed = {name: value for name, value in (EVENT | changes).items() if value is not ...}
    return json.dumps(changed).encode()


def refusal(payload: bytes, *, size: int | None = None) -> PayloadRejected:
    """Why a payload is no event."""
    with pytest.raises(PayloadRejected) as caught:
        read(payload, size=size)
    return caught.value


def test_a_whole_event_keeps_every_field() -> None:
    """Times become UTC, and lists become tuples."""
    event = read(body(language="en-GB", attachments=["https://x.example/a.png"], metadata={"a": [1, None]}))

    assert event == Event(
        event_id="e1",
        entry_id="1795262400000-0",
        user_id="acme",
        scope=Scope.CHAT,
        conversation_id="c1",
        message_id="m1",
        author_id="a1",
        text="When are you open?",
        created_at=datetime(2026, 11, 21, 3, tzinfo=UTC),
        received_at=ARRIVED,
        language="en-GB",
        attachments=("https://x.example/a.png",),
        metadata={"a": [1, None]},
    )


@pytest.mark.parametrize("event_id", [..., None])
def test_the_entry_id_stands_in_for_an_event_id(event_id: object) -> None:
    """A publisher without an idempotency key gets one per entry."""
    assert read(body(event_id=event_id)).event_id == "1795262400000-0"


NOT_EVENTS = (
    (b"", "not_json", "data", "one JSON object", "an empty text"),
    (b"hello", "not_json", "data", "one JSON object", "no JSON at column 1"),
    (b"{a}", "not_json", "data", "one JSON object", "no JSON at column 2"),
    (b'{"a": 1', "not_json", "data", "one JSON object", "no JSON at column 8"),
    (b'{"a": 1,\n b}', "not_json", "data", "one JSON object", "no JSON at line 2, column 2"),
    (b'{"a": "\xff"}', "not_utf8", "data", "UTF-8", "byte 0xff at 7"),
    (b"\xed\xa0\xff", "not_utf8", "data", "UTF-8", "byte 0xed at 0"),
    (b"\x00", "not_json", "data", "one JSON object", "no JSON at column 1"),
    (b"[]", "not_object", "data", "one JSON object", "a JSON array"),
    (b"null", "not_object", "data", "one JSON object", "null"),
    (b'"text"', "not_object", "data", "one JSON object", "a JSON string"),
    (b"7", "not_object", "data", "one JSON object", "a JSON number"),
    (b"1.5", "not_object", "data", "one JSON object", "a JSON number"),
    (b"true", "not_object", "data", "one JSON object", "true or false"),
    (b"[" * 100_000, "too_deep", "data", "at most 256 levels of nesting", "more levels"),
    (b'{"a":' * 257 + b"1" + b"}" * 257, "too_deep", "data", "at most 256 levels of nesting", "more levels"),
)


@pytest.mark.parametrize(("payload", "code", "field", "expected", "got"), NOT_EVENTS)
def test_what_is_no_json_object_is_refused_in_plain_words(
    payload: bytes, code: str, field: str, expected: str, got: str
) -> None:
    """The error has code, field, expectation and value."""
    why = refusal(payload)

    assert (why.code, why.field, why.expected, why.got) == (code, field, expected, got)
    assert str(why) == f"{field}: expected {expected}, got {got}"


def test_an_entry_without_data_is_named() -> None:
    """The stream entry had other fields only."""
    why = refusal(b"", size=-1)

    assert (why.code, why.field, why.got) == ("missing_data", "data", "none")


def test_ten_megabytes_are_refused_by_their_true_size() -> None:
    """The payload is cut before it arrives here; its size is not."""
    why = refusal(body()[:1000], size=10_485_760)

    assert (why.code, why.got) == ("too_large", "10485760 bytes")
    assert why.expected == f"at most {LIMIT} bytes"


BAD_FIELDS: tuple[tuple[dict[str, Any], str, str, str], ...] = (
    ({"user_id": ...}, "user_id", "a value, the field is required", "nothing"),
    ({"text": ...}, "text", "a value, the field is required", "nothing"),
    ({"text": ""}, "text", "at least 1 character", '""'),
    ({"text": "", "type": "agent_message"}, "text", "at least 1 character", '""'),
    ({"text": ..., "type": "message_edited"}, "text", "a value, the field is required", "nothing"),
    ({"type": "reaction"}, "type", "'message', 'agent_message', 'message_edited'", '"reaction"'),
    ({"type": 7}, "type", "'message', 'agent_message', 'message_edited'", "7"),
    ({"type": "feedback", "feedback": {"rating": 7}}, "feedback.rating", "or equal to 5", "7"),
    ({"type": "feedback", "feedback": {"rating": "4"}}, "feedback.rating", "a valid integer", '"4"'),
    ({"type": "feedback", "feedback": {"thumb": "+1"}}, "feedback.thumb", "'up' or 'down'", '"+1"'),
    ({"type": "feedback", "feedback": {"resolved": "no"}}, "feedback.resolved", "a valid boolean", '"no"'),
    ({"type": "feedback", "feedback": "down"}, "feedback", "a JSON object", '"down"'),
    ({"type": "feedback", "feedback": {"about": "e"}, "text": ...}, "feedback", "thumb, rating", "none"),
    ({"role": "assistant"}, "role", "'user' or 'agent'", '"assistant"'),
    ({"user_id": 7}, "user_id", "a valid string", "7"),
    ({"user_id": None}, "user_id", "a valid string", "null"),
    ({"user_id": ""}, "user_id", "at least 1 character", '""'),
    ({"user_id": "*"}, "user_id", "not *", '"*"'),
    ({"user_id": ".."}, "user_id", "not *, . or ..", '".."'),
    ({"user_id": " "}, "user_id", "without a space at either end", '" "'),
    ({"user_id": "acme "}, "user_id", "without a space at either end", '"acme "'),
    ({"user_id": "ac\nme"}, "user_id", "printable characters", r'"ac\nme"'),
    ({"user_id": "ac\u202eme"}, "user_id", "printable characters", r'"ac\u202eme"'),
    ({"user_id": "a\x00"}, "user_id", "printable characters", r'"a\u0000"'),
    ({"user_id": "u" * 256}, "user_id", "at most 255 characters", "256 characters"),
    ({"conversation_id": "c" * 1_000}, "conversation_id", "at most 998 characters", "1000 characters"),
    ({"conversation_id": "c\x00"}, "conversation_id", "a text of the pattern", r'"c\u0000"'),
    ({"event_id": "e\x00"}, "event_id", "a text of the pattern", r'"e\u0000"'),
    ({"text": "x" * 20_001}, "text", "at most 20000 characters", "20001 characters"),
    ({"text": ["a"]}, "text", "a valid string", '["a"]'),
    ({"scope": "mail"}, "scope", "'chat' or 'comment'", '"mail"'),
    ({"scope": True}, "scope", "'chat' or 'comment'", "true"),
    ({"created_at": "1970-01-01T00:00:00Z"}, "created_at", "a time from 2005-01-01", "1970-01-01T00:00:00"),
    ({"created_at": "2099-01-01T00:00:00Z"}, "created_at", "one day after its arrival", "2099-01-01"),
    ({"created_at": "9999-12-31T23:59:59-23:59"}, "created_at", "one day after its arrival", "9999-12-31"),
    ({"created_at": "0001-01-01T00:00:00+23:59"}, "created_at", "a time from 2005-01-01", "0001-01-01"),
    ({"created_at": 17637}, "created_at", "a time from 2005-01-01", "1970-01-01T04:53:57"),
    ({"created_at": True}, "created_at", "an RFC 3339 time", "true"),
    ({"created_at": "2026-11-21T10:00:00"}, "created_at", "an RFC 3339 time", '"2026-11-21T10:00:00"'),
    ({"created_at": "2026-11-21"}, "created_at", "an RFC 3339 time", '"2026-11-21"'),
    ({"created_at": "2026-13-41T10:00:00Z"}, "created_at", "a valid datetime", '"2026-13-41T10:00:00Z"'),
)


@pytest.mark.parametrize(("changes", "field", "expected", "got"), BAD_FIELDS)
def test_a_bad_field_is_named_with_what_came(
    changes: dict[str, Any], field: str, expected: str, got: str
) -> None:
    """The error names the first bad field, its expectation and its value."""
    why = refusal(body(**changes))

    assert (why.code, why.field) == ("invalid", field)
    assert expected in why.expected
    assert why.got.startswith(got)


def test_an_id_is_measured_in_bytes() -> None:
    """As lines of mail and rows of an index are; JSON Schema counts characters only."""
    assert read(body(conversation_id="\u00e9" * 499)).conversation_id == "\u00e9" * 499
    assert refusal(body(conversation_id="\u00e9" * 500)).expected == "at most 998 bytes in UTF-8"


TYPES: tuple[tuple[dict[str, Any], EventType], ...] = (
    ({}, EventType.MESSAGE),
    ({"type": "message", "role": "user"}, EventType.MESSAGE),
    ({"type": "agent_message"}, EventType.AGENT_MESSAGE),
    ({"role": "agent"}, EventType.AGENT_MESSAGE),
    ({"role": "agent", "type": "message"}, EventType.AGENT_MESSAGE),
    ({"role": "user", "type": "agent_message"}, EventType.AGENT_MESSAGE),
    ({"role": "agent", "type": "message_edited"}, EventType.MESSAGE_EDITED),
    ({"type": "message_edited"}, EventType.MESSAGE_EDITED),
    ({"type": "message_deleted"}, EventType.MESSAGE_DELETED),
    ({"type": "message_deleted", "text": ""}, EventType.MESSAGE_DELETED),
    ({"type": "message_deleted", "text": ...}, EventType.MESSAGE_DELETED),
    ({"type": "feedback"}, EventType.FEEDBACK),
    ({"type": "feedback", "feedback": {"rating": 3}, "text": ...}, EventType.FEEDBACK),
    ({"type": "feedback", "feedback": {"rating": 3}, "text": ""}, EventType.FEEDBACK),
)


@pytest.mark.parametrize(("changes", "wanted"), TYPES)
def test_type_and_role_together_say_what_happened(changes: dict[str, Any], wanted: EventType) -> None:
    """A publisher that knows roles only needs no type; only a deletion needs no text."""
    assert read(body(**changes)).type is wanted
    assert Draft202012Validator(SCHEMA).is_valid(json.loads(body(**changes)))


@pytest.mark.parametrize(
    ("marks", "wrong"),
    [
        ({"thumb": "up"}, False),
        ({"thumb": "down", "rating": 5}, True),
        ({"rating": 4}, False),
        ({"rating": 3}, None),
        ({"rating": 3, "resolved": True}, False),
        ({"rating": 2}, True),
        ({"resolved": False, "thumb": "up"}, True),
        ({"about": "e0"}, None),
    ],
)
def test_one_bad_mark_calls_a_reply_wrong(marks: dict[str, Any], wrong: bool | None) -> None:
    """A remark or a middle rating alone says neither."""
    feedback = read(body(type="feedback", feedback=marks)).feedback

    assert feedback is not None
    assert feedback.wrong is wrong


def test_feedback_in_a_message_is_left_out_and_noted() -> None:
    """The message is answered all the same."""
    event = read(body(feedback={"rating": 9}))

    assert (event.type, event.feedback) == (EventType.MESSAGE, None)
    assert event.notes == ("type: expected feedback, as the event has feedback, got nothing",)


@pytest.mark.parametrize(("changes", "wanted"), TYPES)
def test_an_event_in_an_envelope_has_its_own_type(changes: dict[str, Any], wanted: EventType) -> None:
    """The type of a CloudEvents envelope is the publisher's and says nothing here."""
    assert read(cloud({"type": "message_deleted"}, **changes)).type is wanted


@pytest.mark.parametrize(("parent", "wanted"), [("m0", "m0"), (None, None), (..., None)])
def test_the_message_that_is_answered_is_kept(parent: object, wanted: str | None) -> None:
    """Comments name the comment above them."""
    assert read(body(parent_id=parent)).parent_id == wanted
    assert Draft202012Validator(SCHEMA).is_valid(json.loads(body(parent_id=parent)))


def test_a_whole_pair_of_surrogates_is_a_character() -> None:
    """JSON writes characters beyond U+FFFF as two surrogates."""
    assert read(body(text="HALF").replace(b"HALF", rb"\ud83d\ude00")).text == "😀"


def test_the_last_of_duplicate_keys_counts() -> None:
    """As in the JSON parser inside Redis, which picks the lane."""
    payload = body().replace(b'"conversation_id": "c1"', b'"conversation_id": "c1", "conversation_id": "c2"')

    assert read(payload).conversation_id == "c2"


def test_unknown_fields_are_ignored() -> None:
    """A publisher may send further fields, even with values that cannot be stored."""
    assert read(body(unknown={"n": 2**80, "text": "\x00"})).user_id == "acme"


def cloud(envelope: dict[str, Any], **changes: Any) -> bytes:
    """An event in an envelope; ``...`` removes a field of the event."""
    inner = {name: value for name, value in (EVENT | changes).items() if value is not ...}
    return json.dumps({**ENVELOPE, "data": inner, **envelope}).encode()


def test_two_sources_may_use_one_cloud_id() -> None:
    """CloudEvents makes source and id unique together; a very long pair is kept as its digest."""
    ids = {read(cloud({"source": source}, event_id=None)).event_id for source in ("/a", "/b", "/c" * 500)}

    assert len(ids) == 3
    assert max(map(len, ids)) == 64


@pytest.mark.parametrize("absent", [..., None])
def test_the_envelope_fills_what_the_event_leaves_out(absent: object) -> None:
    """CloudEvents' id and time are the defaults of missing or null fields."""
    event = read(cloud({}, event_id=absent, created_at=absent))

    assert (event.event_id, event.created_at) == ("/shop#cloud-1", datetime(2026, 11, 21, 9, tzinfo=UTC))


def test_the_event_s_own_id_and_time_win() -> None:
    """The publisher's idempotency key is the inner one."""
    event = read(cloud({}))

    assert (event.event_id, event.created_at) == ("e1", datetime(2026, 11, 21, 3, tzinfo=UTC))


@pytest.mark.parametrize(
    ("envelope", "field", "expected", "got"),
    [
        ({"specversion": "0.3"}, "specversion", "'1.0'", "'0.3'"),
        ({"specversion": None}, "specversion", "'1.0'", "None"),
        ({"id": ""}, "id", "a non-empty string", "''"),
        ({"source": 7}, "source", "a non-empty string", "7"),
        ({"type": None}, "type", "a non-empty string", "None"),
        ({"data": None}, "data.data", "a JSON object", "null"),
        ({"data": "e30="}, "data.data", "a JSON object", "a JSON string"),
        ({"data": []}, "data.data", "a JSON object", "a JSON array"),
    ],
)
def test_a_bad_envelope_is_named(envelope: dict[str, Any], field: str, expected: str, got: str) -> None:
    """Envelope fields are named like event fields."""
    why = refusal(cloud(envelope))

    assert (why.code, why.field, why.expected, why.got) == ("invalid", field, expected, got)


@given(st.binary())
def test_bytes_are_an_event_or_refused(payload: bytes) -> None:
    """No bytes raise another error."""
    assert refusal(payload).code in {"not_json", "not_utf8", "not_object", "invalid"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OPTIONAL = ("type", "role", "parent_id", "language", "attachments", "metadata")
FIELDS = st.sampled_from([*EVENT, *OPTIONAL, "specversion", "data", "unknown"])


def outcome(payload: bytes, arrival: Arrival) -> Event | PayloadRejected:
    """The event, or why there is none."""
    try:
        return parse(payload, arrival)
    except PayloadRejected as error:
        return error


@given(st.dictionaries(FIELDS, json_values | st.just(...), max_size=5))
def test_any_json_is_an_event_or_refused(changes: dict[str, Any]) -> None:
    """The error text of a refused payload and an accepted event can both be stored."""
    arrival = Arrival(entry_id="1-0", size_bytes=1, received_at=ARRIVED)
    ended = outcome(body(**changes), arrival)
    if isinstance(ended, Event):
        stored = orjson.dumps([ended.user_id, ended.text, ended.event_id, ended.metadata]).decode()
        assert "\\u0000" not in stored.replace("\\\\", "")
    else:
        words = (ended.field, ended.expected, ended.got)
        assert all(words)
        assert len(ended.got) <= 120
        assert b"\x00" not in "".join(words).encode()


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_every_entry_id_gives_a_comparable_time(milliseconds: int, sequence: int) -> None:
    """Publishers may choose ids that hold no time."""
    entry_id = f"{milliseconds}-{sequence}"
    at = received_at(entry_id)
    ended = outcome(body(), Arrival(entry_id=entry_id, size_bytes=1, received_at=at))

    assert at.tzinfo is UTC
    assert isinstance(ended, Event) or ended.field == "created_at"


@pytest.mark.parametrize("changes", [bad[0] for bad in BAD_FIELDS if "created_at" not in bad[0]])
def test_the_schema_refuses_what_the_parser_refuses(changes: dict[str, Any]) -> None:
    """The schema is as strict as the parser on these payloads."""
    assert not Draft202012Validator(SCHEMA).is_valid(json.loads(body(**changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"event_id": None},
        {"scope": "comment", "language": "vi"},
        {"metadata": {"a": [1, {"b": None}]}, "attachments": ["http://x.example/1.jpg"]},
        {"attachments": ["ftp://x", None, {"url": 1}] * 17},
        {"attachments": "https://x.example/a.png"},
        {"attachments": None},
        {"text": "", "attachments": [{"type": "voice"}]},
        {"text": "x" * 20_000, "conversation_id": "ü" * 255},
    ],
)
def test_the_schema_accepts_what_the_parser_accepts(changes: dict[str, Any]) -> None:
    """The schema is no stricter than the parser on these payloads."""
    read(body(**changes))

    assert Draft202012Validator(SCHEMA).is_valid(json.loads(body(**changes)))


def _kept_rejection(payload: bytes) -> weakref.ref[PayloadRejected]:
    """The rejection that a frame still names when it ends, as the frames of a generator or a task may."""
    try:
        parse(payload, Arrival(entry_id="1-0", size_bytes=len(payload), received_at=ARRIVED))
    except PayloadRejected as error:
        kept = error
    return weakref.ref(kept)


def test_a_rejection_that_a_caller_keeps_is_freed_with_its_payload() -> None:
    """Pydantic's error, as its cause, would keep both: the garbage collector cannot look into it."""
    kept = _kept_rejection(orjson.dumps(EVENT | {"created_at": "yesterday"}))
    gc.collect()

    assert kept() is None
