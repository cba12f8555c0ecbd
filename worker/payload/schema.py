"""The schema of an event as publishers send it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
)

from worker.model import EventType, Scope, Thumb
from worker.model.feedback import LOW_RATING
from worker.payload.attachments import MOST_IMAGES, URL_CHARS

EXPECTED: Final = "an RFC 3339 time such as 2026-11-21T10:00:00Z, or Unix seconds or milliseconds"
WRITTEN: Final = re.compile(
    r"(?P<year>\d{4})-?(?P<month>\d\d)-?(?P<day>\d\d)[Tt ]\s?(?P<hour>\d\d):?(?P<minute>\d\d)"
    r"(?::?(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,12}))?)?"
    r"\s?(?P<zone>[Zz]|UTC|GMT|[+\-\u2212]\d\d(?::?\d\d(?::?\d\d)?)?)(?:\sUTC|\sGMT|\[[\w/+\-]{1,60}\])?",
    re.ASCII,
)
"""ISO 8601 as Java, Go, Ruby, PHP, Python, .NET, JavaScript and databases print it.

With or without separators and seconds, a comma or a point, an offset with or without minutes, then a zone.
"""
NUMBER: Final = re.compile(r"\d{9,19}(?:\.\d{1,9})?", re.ASCII)
LARGEST_SECONDS: Final = 1e11
"""Unix seconds are smaller until the year 5138; larger numbers are milli-, micro- or nanoseconds."""
UNITS: Final = (1, 1_000, 1_000_000, 1_000_000_000)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LEAP: Final = 60
MICROS: Final = 1_000_000


def parsed_time(value: object) -> datetime:
    """The time of ``created_at``; raises ``ValueError`` for a text without an offset or of another form."""
    if isinstance(value, str) and NUMBER.fullmatch(value):
        return _unix_time(float(value) if "." in value else int(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _unix_time(value)
    written = WRITTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if written is None:
        raise ValueError(EXPECTED)
    parts = {name: int(part) for name, part in written.groupdict().items() if part and part.isdecimal()}
    fraction = (written["fraction"] or "").ljust(6, "0")[:6]
    second = parts.get("second", 0) - (parts.get("second") == LEAP)
    day = (parts["year"], parts["month"], parts["day"])
    try:
        zone = _zone(written["zone"])
        return datetime(*day, parts["hour"], parts["minute"], second, int(fraction), tzinfo=zone)
    except ValueError as error:
        raise ValueError(f"a valid datetime: {error}") from error


def _unix_time(number: float) -> datetime:
    """The time of a Unix number; its size says whether it counts seconds or parts of them."""
    if not 0 <= number < LARGEST_SECONDS * UNITS[-1]:
        raise ValueError(EXPECTED)
    unit = next(unit for unit in UNITS if number < LARGEST_SECONDS * unit)
    if isinstance(number, int):
        return EPOCH + timedelta(microseconds=number * MICROS // unit)
    return EPOCH + timedelta(microseconds=round(number * MICROS / unit))


def _zone(written: str) -> timezone:
    if written[0] not in "+-\u2212":
        return UTC
    digits = written[1:].replace(":", "").ljust(6, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:6]))
    return timezone(offset if written[0] == "+" else -offset)


ACCOUNT_CHARS: Final = 255
ACCOUNT_BYTES: Final = 680
"""What an index of Postgres, 2704 bytes wide, leaves beside two ids; in UTF-8, so 226 Chinese characters."""
ID_BYTES: Final = 998
"""A line of a mail, which is the longest Message-ID. Two such ids and an account are one row of an index."""
TEXT_CHARS: Final = 20_000
LANGUAGE: Final = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$"
UNPRINTABLE: Final = r"\u0000-\u001f\u007f-\u009f\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
"""The characters that the schema excludes; the parser also refuses unassigned code points."""
RESERVED: Final = frozenset({"*", ".", ".."})
"""``*`` means every account in grants; dots are path segments in URLs."""


def is_account_name(name: str) -> bool:
    """Whether a name is valid for an account: printable, without a space at either end, not reserved."""
    within = 0 < len(name) <= ACCOUNT_CHARS and len(name.encode(errors="replace")) <= ACCOUNT_BYTES
    return within and name.isprintable() and name == name.strip() and name not in RESERVED


def _account_name(name: str) -> str:
    if not is_account_name(name):
        form = "printable characters without a space at either end, not *, . or .."
        raise ValueError(f"at most {ACCOUNT_BYTES} bytes of {form}")
    return name


def is_id(text: str) -> bool:
    """Whether a text can be the id of a message, a conversation or an author."""
    return 0 < len(text) <= ID_BYTES and len(text.encode(errors="replace")) <= ID_BYTES and "\0" not in text


def _short_id(text: str) -> str:
    if not is_id(text):
        raise ValueError(f"at most {ID_BYTES} bytes in UTF-8")
    return text


Identifier = Annotated[
    str,
    StringConstraints(min_length=1, max_length=ID_BYTES, pattern=r"^[^\x00]*$"),
    AfterValidator(_short_id),
]
AccountName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=ACCOUNT_CHARS),
    AfterValidator(_account_name),
    Field(
        json_schema_extra={
            "pattern": f"^[^ {UNPRINTABLE}]([^{UNPRINTABLE}]*[^ {UNPRINTABLE}])?$",
            "not": {"enum": sorted(RESERVED)},
        }
    ),
]


TEXT_UNLESS_DELETED: Final[dict[str, JsonValue]] = {
    "anyOf": [
        {"properties": {"text": {"minLength": 1}}, "required": ["text"]},
        {"properties": {"type": {"const": EventType.MESSAGE_DELETED.value}}, "required": ["type"]},
        {
            "properties": {
                "type": {"const": EventType.FEEDBACK.value},
                "feedback": {"anyOf": [{"required": [mark]} for mark in ("thumb", "rating", "resolved")]},
            },
            "required": ["type", "feedback"],
        },
        {"properties": {"attachments": {"not": {"enum": [None, []]}}}, "required": ["attachments"]},
    ]
}
"""JSON Schema: only a deletion, feedback with marks, and a message with an attachment have no text."""
PublishedType = Literal["message", "agent_message", "message_edited", "message_deleted", "feedback"]
"""Every type but ``check``, which is no event of a stream."""
Rfc3339 = Annotated[AwareDatetime, BeforeValidator(parsed_time), Field(strict=False)]


class FeedbackPayload(BaseModel):
    """What a customer says about a reply; a remark is the event's ``text``."""

    model_config = ConfigDict(extra="ignore", strict=True, title="Feedback")

    thumb: Annotated[Thumb, Field(strict=False)] | None = Field(default=None, description="Up or down.")
    rating: Annotated[int, Field(ge=1, le=5)] | None = Field(
        default=None,
        description=f"1 (worst) to 5; up to {LOW_RATING} calls the reply wrong, from {LOW_RATING + 2} right.",
    )
    resolved: bool | None = Field(default=None, description="Whether the reply solved the problem.")
    about: Identifier | None = Field(
        default=None,
        description="`event_id`, `decision_id` or check of the rated reply; else the reply to `message_id`.",
    )


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
        default="",
        description="What was written; may be empty for a deletion, with an attachment, and with marks.",
    )
    type: PublishedType = Field(
        default="message",
        description="What happened: `message` may be answered; `agent_message` is a person of the team, and"
        " the conversation then belongs to people; `message_edited`, `message_deleted` and `feedback` name an"
        " earlier `message_id`.",
    )
    feedback: FeedbackPayload | None = Field(
        default=None, description="Of the type `feedback`: what the author says about the reply."
    )
    role: Literal["user", "agent"] = Field(
        default="user", description="`agent` with the type `message` means the type `agent_message`."
    )
    parent_id: Identifier | None = Field(
        default=None, description="The message or comment that this one answers."
    )
    created_at: Rfc3339 = Field(
        description="When it was written, RFC 3339 with an offset; not before 2005, at most a day ahead."
        " Other forms of ISO 8601 with an offset, and Unix seconds or milliseconds, are read too."
    )
    language: Annotated[str, StringConstraints(pattern=LANGUAGE)] | None = Field(
        default=None, description="BCP 47 tag, when the publisher knows it; left out when it is none."
    )
    attachments: JsonValue = Field(
        default=None,
        description="A list of URLs of images that belong to the message. Moderation checks the first"
        f" {MOST_IMAGES} usable ones (http or https, at most {URL_CHARS} characters). Any other entry,"
        f" such as"
        " another file, is counted, so that people and the model know of it; none makes the message"
        " unusable.",
        examples=[["https://cdn.example/photo.jpg"]],
    )
    metadata: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="The publisher's own object, kept with the decision. Texts in its `labels` restrict which"
        " documents may answer; `role` and `account_age_days` in its `author` are facts for rules."
        " `traceparent` and `tracestate` (W3C Trace Context) are passed on with the"
        " reply; nothing else is interpreted.",
    )

    @property
    def event_type(self) -> EventType:
        """The type as a member of the set."""
        return EventType(self.type)
