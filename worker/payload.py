"""The edge of the engine: raw bytes in, an Event or a PayloadRejected out."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
)

from worker.errors import PayloadRejected
from worker.model import Event, EventType, Scope

PAYLOAD_BYTES: Final = 262_144
"""Largest payload unless HUSHGATE_PAYLOAD_BYTES names another size."""
ID_CHARS: Final = 255
TEXT_CHARS: Final = 20_000
ATTACHMENTS: Final = 16
DEPTH: Final = 32
EARLIEST: Final = datetime(2005, 1, 1, tzinfo=UTC)
FUTURE_SKEW: Final = timedelta(days=1)
SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
JSON_KINDS: Final[dict[type, str]] = {
    dict: "a JSON object",
    list: "a JSON array",
    str: "a JSON string",
    int: "a JSON number",
    float: "a JSON number",
    bool: "true or false",
    type(None): "null",
}

UNPRINTABLE: Final = r"\u0000-\u001f\u007f-\u009f\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
"""The characters that the schema excludes; the parser also refuses unassigned code points."""
RESERVED: Final = frozenset({"*", ".", ".."})
"""``*`` means every account in grants; dots are path segments in URLs."""


def is_account_name(name: str) -> bool:
    """Whether a name is valid for an account: printable, without a space at either end, not reserved."""
    within = 0 < len(name) <= ID_CHARS
    return within and name.isprintable() and name == name.strip() and name not in RESERVED


def _account_name(name: str) -> str:
    if not is_account_name(name):
        raise ValueError("printable characters without a space at either end, not *, . or ..")
    return name


Identifier = Annotated[str, StringConstraints(min_length=1, max_length=ID_CHARS, pattern=r"^[^\x00]*$")]
AccountName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=ID_CHARS),
    AfterValidator(_account_name),
    Field(
        json_schema_extra={
            "pattern": f"^[^ {UNPRINTABLE}]([^{UNPRINTABLE}]*[^ {UNPRINTABLE}])?$",
            "not": {"enum": sorted(RESERVED)},
        }
    ),
]
ImageUrl = Annotated[str, StringConstraints(max_length=2048, pattern=r"^https?://[^\s\x00]+$")]


def _only_text(value: object) -> object:
    if not isinstance(value, str) or not RFC_3339.fullmatch(value):
        raise ValueError("an RFC 3339 time such as 2026-11-21T10:00:00Z")
    return value


TEXT_UNLESS_DELETED: Final[dict[str, JsonValue]] = {
    "if": {"properties": {"type": {"const": EventType.MESSAGE_DELETED.value}}, "required": ["type"]},
    "else": {"properties": {"text": {"minLength": 1}}, "required": ["text"]},
}
"""JSON Schema: only a deletion has no text."""
Rfc3339 = Annotated[AwareDatetime, BeforeValidator(_only_text), Field(strict=False)]


class EventPayload(BaseModel):
    """One chat message or comment, as publishers send it; fields it does not name are ignored.

    The JSON Schema in ``docs/event.schema.json`` is generated from this class.
    """

    model_config = ConfigDict(
        extra="ignore", strict=True, title="Hushgate event", json_schema_extra=TEXT_UNLESS_DELETED
    )

    event_id: Identifier | None = Field(
        default=None, description="Idempotency key, unique per account; the stream entry id when absent."
    )
    user_id: AccountName = Field(
        description="The account whose inbox it is: printable, no space at either end, not `*`, `.` or `..`."
    )
    scope: Annotated[Scope, Field(strict=False)] = Field(description="Where the author wrote.")
    conversation_id: Identifier = Field(description="Events of one conversation are decided in order.")
    message_id: Identifier = Field(description="The platform's id of this message or comment.")
    author_id: Identifier = Field(description="Who wrote it.")
    text: Annotated[str, StringConstraints(max_length=TEXT_CHARS, pattern=r"^[^\x00]*$")] = Field(
        default="", description="What was written, at least one character; may be absent for a deletion."
    )
    type: Annotated[EventType, Field(strict=False)] = Field(
        default=EventType.MESSAGE,
        description="What happened: `message` may be answered; `agent_message` is a person of the team, and"
        " the conversation then belongs to people; `message_edited` and `message_deleted` name an earlier"
        " `message_id`.",
    )
    role: Literal["user", "agent"] = Field(
        default="user", description="`agent` with the type `message` means the type `agent_message`."
    )
    parent_id: Identifier | None = Field(
        default=None, description="The message or comment that this one answers."
    )
    created_at: Rfc3339 = Field(
        description="When it was written, RFC 3339 with an offset; not before 2005, at most a day ahead."
    )
    language: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] | None = (
        Field(default=None, description="BCP 47 tag, when the publisher knows it.")
    )
    attachments: Annotated[list[ImageUrl], Field(max_length=ATTACHMENTS)] = Field(
        default_factory=list, description="URLs of images that belong to the message."
    )
    metadata: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="The publisher's own object, kept with the decision. Texts in its `labels` restrict which"
        " documents may answer; nothing else is interpreted.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Facts about a payload before it is parsed.

    Attributes:
        entry_id: its stream entry.
        size_bytes: true size; -1 when the entry has no field ``data``.
        received_at: when Redis took the entry, UTC.
    """

    entry_id: str
    size_bytes: int
    received_at: datetime


def parse(payload: bytes, arrival: Arrival, *, most_bytes: int) -> Event:
    """The event in a payload, plain or as CloudEvents 1.0 structured JSON.

    Raises:
        PayloadRejected: it cannot be an event; the error names the field, the expectation and what came.
    """
    if arrival.size_bytes < 0:
        raise PayloadRejected(
            code="missing_data", field="data", expected="a stream field named data", got="none"
        )
    if arrival.size_bytes > most_bytes:
        raise PayloadRejected(
            code="too_large",
            field="data",
            expected=f"at most {most_bytes} bytes",
            got=f"{arrival.size_bytes} bytes",
        )
    body = _json_object(payload)
    _check_depth(body)
    if b"\\u" in payload:
        _check_surrogates(body)
    if "specversion" in body:
        body = _unwrapped(body)
    return _event(_validated(body), arrival)


def received_at(entry_id: str) -> datetime:
    """When Redis took the entry: the milliseconds before the dash; 1970 when a publisher chose its own id."""
    milliseconds = min(int(entry_id.partition("-")[0]), 253_402_300_799_000)
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)


def _json_object(payload: bytes) -> dict[str, Any]:
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PayloadRejected(
            code="not_utf8",
            field="data",
            expected="UTF-8",
            got=f"byte {payload[error.start]:#04x} at {error.start}",
        ) from error
    try:
        body = json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise PayloadRejected(
            code="not_json", field="data", expected="one JSON object", got=_shown(str(error))
        ) from error
    if not isinstance(body, dict):
        raise PayloadRejected(code="not_object", field="data", expected="one JSON object", got=_kind(body))
    return body


def _kind(value: object) -> str:
    """A JSON value's type in words."""
    return JSON_KINDS.get(type(value), "nothing")


def _check_surrogates(body: JsonValue) -> None:
    """Refuse half a surrogate pair anywhere: neither Postgres nor the JSON parser inside Redis accepts it."""
    if any(isinstance(leaf, str) and SURROGATE.search(leaf) for leaf in _leaves(body)):
        raise PayloadRejected(
            code="not_utf8", field="data", expected="whole characters", got="half of a surrogate pair"
        )


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _unwrapped(envelope: dict[str, Any]) -> dict[str, Any]:
    """The event inside a CloudEvents 1.0 envelope; the envelope's id and time are its defaults."""
    if envelope["specversion"] != "1.0":
        raise PayloadRejected(
            code="invalid", field="specversion", expected="'1.0'", got=_shown(repr(envelope["specversion"]))
        )
    for name in ("id", "source", "type"):
        if not isinstance(envelope.get(name), str) or not envelope[name]:
            raise PayloadRejected(
                code="invalid",
                field=name,
                expected="a non-empty string",
                got=_shown(repr(envelope.get(name))),
            )
    inner = envelope.get("data")
    if not isinstance(inner, dict):
        raise PayloadRejected(code="invalid", field="data.data", expected="a JSON object", got=_kind(inner))
    ours = {name: value for name, value in inner.items() if value is not None}
    defaults = {"event_id": _cloud_id(envelope["source"], envelope["id"]), "created_at": envelope.get("time")}
    return {name: value for name, value in defaults.items() if value is not None} | ours


def _cloud_id(source: str, event_id: str) -> str:
    """``source#id``: unique only together (CloudEvents 1.0); their SHA-256 when too long."""
    joined = f"{source}#{event_id}"
    return joined if len(joined) <= ID_CHARS else hashlib.sha256(joined.encode()).hexdigest()


def _check_depth(body: dict[str, Any]) -> None:
    level: list[Any] = [body]
    for _ in range(DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> PayloadRejected:
    return PayloadRejected(
        code="too_deep", field="data", expected=f"at most {DEPTH} levels of nesting", got="more levels"
    )


def _children(node: Any) -> list[Any]:
    values = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [value for value in values if isinstance(value, dict | list)]


def _validated(body: dict[str, Any]) -> EventPayload:
    try:
        return EventPayload.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise PayloadRejected(
            code="invalid",
            field=".".join(str(part) for part in first["loc"]) or "data",
            expected=_expectation(first["msg"]),
            got=_got(first),
        ) from error


def _expectation(message: str) -> str:
    """Pydantic's message without its subject, so that it reads after the word "expected"."""
    if message == "Field required":
        return "a value, the field is required"
    message = re.sub(r"^(Value error, |Input should be )", "", message)
    return re.sub(r"^(Input|String|List) should ", r"a \1 to ", message).replace("a Input", "a value")


def _got(error: Any) -> str:
    if error["type"] == "missing":
        return "nothing"
    value = error["input"]
    if isinstance(value, str) and len(value) > 60:
        return f"{len(value)} characters"
    return _shown(json.dumps(value, default=str))


def _shown(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "?", text)[:120]


def _event(payload: EventPayload, arrival: Arrival) -> Event:
    _check_text(payload)
    _check_time(payload.created_at, arrival.received_at)
    _check_storable(payload.metadata)
    return Event(
        event_id=payload.event_id or arrival.entry_id,
        entry_id=arrival.entry_id,
        user_id=payload.user_id,
        scope=payload.scope,
        conversation_id=payload.conversation_id,
        message_id=payload.message_id,
        author_id=payload.author_id,
        text=payload.text,
        created_at=payload.created_at.astimezone(UTC),
        received_at=arrival.received_at,
        language=payload.language,
        attachments=tuple(payload.attachments),
        metadata=payload.metadata,
        type=_type(payload),
        parent_id=payload.parent_id,
    )


def _type(payload: EventPayload) -> EventType:
    if payload.role == "agent" and payload.type is EventType.MESSAGE:
        return EventType.AGENT_MESSAGE
    return payload.type


def _check_text(payload: EventPayload) -> None:
    if payload.text or payload.type is EventType.MESSAGE_DELETED:
        return
    given = "text" in payload.model_fields_set
    raise PayloadRejected(
        code="invalid",
        field="text",
        expected="a string to have at least 1 character" if given else "a value, the field is required",
        got='""' if given else "nothing",
    )


def _check_time(created_at: datetime, received: datetime) -> None:
    if created_at < EARLIEST or created_at - max(received, EARLIEST) > FUTURE_SKEW:
        raise PayloadRejected(
            code="invalid",
            field="created_at",
            expected=f"a time from {EARLIEST:%Y-%m-%d} to one day after its arrival",
            got=created_at.isoformat(),
        )


def _check_storable(metadata: dict[str, JsonValue]) -> None:
    """Refuse NUL, which Postgres cannot store, and integers over 64 bits, which some readers cannot."""
    for leaf in _leaves(metadata):
        match leaf:
            case str() if "\x00" in leaf:
                expected, got = "text without NUL", _shown(leaf)
            case int() if not -(2**63) <= leaf < 2**64:
                expected, got = "integers of at most 64 bits", f"one of {leaf.bit_length()} bits"
            case float() if not math.isfinite(leaf):
                expected, got = "numbers that a double can hold", "a larger one"
            case _:
                continue
        raise PayloadRejected(code="invalid", field="metadata", expected=expected, got=got)


def _leaves(node: JsonValue) -> Iterator[JsonValue]:
    """Every key and every scalar value."""
    match node:
        case dict():
            for key, value in node.items():
                yield key
                yield from _leaves(value)
        case list():
            for value in node:
                yield from _leaves(value)
        case _:
            yield node
