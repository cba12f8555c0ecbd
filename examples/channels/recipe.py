"""What all recipes share: the values of a channel, checked reading of payloads, and signatures."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias, TypeVar

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")

WINDOW_S: Final = 300
"""Oldest signed request that is accepted: an older one may be a replay."""
KNOWN_S: Final = 30 * 86_400
"""How long sent messages are known: until then a reply can be taken back, and is not sent twice."""
PART: Final = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)
"""An id of a channel; it leads nowhere else in a path."""
ANY_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
"""What a header can hold."""
KINDS: Final[dict[type, str]] = {dict: "an object", list: "a list", str: "a text", int: "an integer"}


class PayloadError(ValueError):
    """A payload is not of the channel's documented form; names the field, the expectation and what came."""


class SignatureError(ValueError):
    """An incoming request is not signed by the channel, or it is too old."""


class SendRefused(Exception):
    """The channel will not take this request, however often it is repeated; ``answer`` says why."""

    def __init__(self, message: str, answer: object = None) -> None:
        super().__init__(message)
        self.answer = answer


class Gone(SendRefused):
    """What the request would change is no longer there."""


class TryLater(Exception):
    """The channel may take the request after ``after_s`` seconds; it may have taken it already.

    ``is_limit``: it took nothing because a limit is reached, which it lifts within a day.
    """

    def __init__(self, message: str, after_s: float, *, is_limit: bool = False) -> None:
        super().__init__(message)
        self.after_s = after_s
        self.is_limit = is_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One inbox: an account of Hushgate in one channel.

    Attributes:
        account: the account, ``user_id`` of its events.
        own_id: the channel's id for us; what it wrote is never an event.
        people: the channel's ids of the team, whose messages make the AI silent.
        place: where escalations are announced, in channels that need a place of its own.
    """

    account: str
    own_id: str
    people: frozenset[str] = frozenset()
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to the channel.

    Attributes:
        path: follows the recipe's ``url``.
        as_person: the channel refuses a bot's token here; it needs that of a person.
    """

    method: str
    path: str
    body: Json | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    as_person: bool = False


class Change(StrEnum):
    """Who answers from now on in a conversation: people, or the AI again."""

    TAKE = "take"
    RELEASE = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerChange:
    """A conversation passes to people or to the AI, ``at`` Unix seconds of the channel's clock."""

    conversation: str
    change: Change
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """How a channel's requests become events, in channels that send requests.

    Attributes:
        check: SignatureError unless the channel signed headers and body, by secret and Unix time.
        events: the events of a payload; none when it is nothing for us. PayloadError: another form.
        answer: what the request is answered with; most channels expect the status alone.
        retry_status: what makes the channel send a request again.
        owner: who answers from now on, in channels that say so.
        presses: the buttons that people of the team pressed, in channels where they can.
        changes: events that count only when their message was published before, in channels that have such.
        album: what names the messages that show one album; those without text count once, behind no other.
    """

    check: Callable[[Mapping[str, str], bytes, str, float], None]
    events: Callable[[Json, Setup], list[Json]]
    answer: Callable[[Json], Json] = lambda _payload: {}
    retry_status: int = 503
    owner: Callable[[Json], OwnerChange | None] | None = None
    presses: Callable[[Json], list[Json]] = lambda _payload: []
    changes: Callable[[Json, Setup], list[Json]] | None = None
    album: Callable[[Json], str | None] = lambda _payload: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Whether a reply was sent by a request without an answer, in channels that take no key.

    Attributes:
        request: shows the messages after the one that is answered.
        sent_id: the channel's id of the reply among them, by the answer, the reply, the setup and the key.
    """

    request: Callable[[Json], Request]
    sent_id: Callable[[Json, Json, Setup, str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A channel; every function is pure.

    Attributes:
        name: prefix of its conversation ids, by which a consumer knows its replies.
        url: where its requests go; empty when it differs from customer to customer.
        authorization: the value of ``key_header``; ``{token}`` stands for the secret, here or in ``url``.
        needs_own_id: whether its own messages are known by OWN_ID only.
        token_form: what the secret looks like, in channels whose answer to another form misleads.
        send: the request for a reply; the key (third argument) identifies it when it is repeated.
        sent_id: the channel's id of what was sent, from its answer and the setup.
        retract: the request that removes what was sent, by its id.
        announce: the requests that show a text to the team; none where the channel has no place for it.
        lookup: looks for a reply before it is sent again; None where the channel takes a key.
        check_answer: raises what the answer of a 200 says, in channels that report errors there.
        moved: the request to the place that the answer of a refusal names; None where it names none.
    """

    name: str
    url: str
    authorization: str
    send: Callable[[Json, Setup, str], Request]
    sent_id: Callable[[Json, Setup], str]
    retract: Callable[[Json, Setup, str], Request]
    announce: Callable[[str, Json, Setup], list[Request]]
    inbound: Inbound | None = None
    lookup: Lookup | None = None
    check_answer: Callable[[Json], None] = lambda _answer: None
    moved: Callable[[Request, object], Request | None] = lambda _request, _answer: None
    key_header: str = "Authorization"
    needs_own_id: bool = True
    token_form: re.Pattern[str] = ANY_TOKEN

    def credentials(self, token: str) -> dict[str, str]:
        """The header with the secret; none where the address holds it."""
        return {self.key_header: self.authorization.format(token=token)} if self.authorization else {}


def find(payload: object, path: str, kind: type[T]) -> T | None:
    """A value such as ``event.user`` of a payload; None where it is absent, null or an empty text.

    Raises:
        PayloadError: it is of another type.
    """
    found = payload
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    if found is None or found == "":
        return None
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise PayloadError(f"{path}: expected {_named(kind)}, got {_named(type(found))}")
    return found


def read(payload: object, path: str, kind: type[T]) -> T:
    """A value that must be there, see ``find``."""
    found = find(payload, path, kind)
    if found is None:
        raise PayloadError(f"{path}: expected {_named(kind)}, got nothing")
    return found


def read_id(payload: object, path: str) -> str:
    """An id, which some channels send as a text and some as an integer."""
    found = find(payload, path, object)
    return str(found) if type(found) is int else read(payload, path, str)


def event(setup: Setup, **fields: Any) -> list[Json]:
    """The event of what an author did, or none for a message without text and attachments.

    The event id comes from the message id: a message that the channel delivers twice is decided once.
    """
    made = {"user_id": setup.account, "type": "message", "text": "", **fields}
    files = re.sub(r'\?[^"]*', "", json.dumps(made.get("attachments")))  # Discord signs their URLs anew
    said = (json.dumps(made["text"]) + files).encode()  # two edits may have one time
    edited = f"#edited-{made['created_at']}-{hashlib.sha256(said).hexdigest()[:16]}"
    stamp = {"message_edited": edited, "message_deleted": "#deleted"}
    made["event_id"] = f"{made['conversation_id']}/{made['message_id']}{stamp.get(made['type'], '')}"
    if made["type"] == "agent_message":
        made["text"] = made["text"] or "[attachment]"  # a person spoke: the AI must know
    if not made.get("attachments"):
        made.pop("attachments", None)
    is_said = made["text"].strip() or made.get("attachments") or made["type"] == "message_deleted"
    return [made] if is_said else []


def attached(payload: object, path: str, url: str, kind: str) -> list[Json | str]:
    """The attachments in a list of a payload, for ``attachments`` of an event.

    ``url`` and ``kind`` name the fields of an item with its public URL and its media type; an empty ``url``:
    the channel's URLs need its secret. Every item is kept: Hushgate counts what is no image it can fetch.
    """
    found: list[Json | str] = []
    for item in find(payload, path, list) or []:
        named = {"url": find(item, url, str) if url else None, "content_type": find(item, kind, str)}
        found.append({name: value for name, value in named.items() if value})
    return found


def written_by(setup: Setup, *ids: str) -> str:
    """The type of a new message whose author has these ids: of a customer or of the team."""
    return "agent_message" if setup.people.intersection(ids) else "message"


def address(entry: Json, name: str, parts: int = 1) -> list[str]:
    """The parts of a conversation id after the channel's name: where a reply goes."""
    prefix, *rest = read(entry, "conversation_id", str).split(":", parts)
    if prefix != name or len(rest) != parts or not all(map(PART.fullmatch, rest)):
        raise PayloadError(f"conversation_id: expected {name}: and {parts} ids, got another form")
    return rest


def same_text(sent: str, shown: str) -> bool:
    """Whether a channel shows a text of ours; some change its spaces and line ends."""
    return sent.split() == shown.split()


def instant(seconds: float) -> str:
    """Unix seconds as RFC 3339. PayloadError: no time of our calendar."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise PayloadError("time: expected Unix seconds, got another number") from error


def header(headers: Mapping[str, str], name: str) -> str:
    """A header of a request, whose names have no case. SignatureError: it is missing."""
    for each, value in headers.items():
        if each.lower() == name.lower():
            return value
    raise SignatureError(f"{name}: expected a header, got none")


def check_same(expected: str, received: str, name: str) -> None:
    """Compare a signature in constant time."""
    if not hmac.compare_digest(expected.encode(), received.encode()):
        raise SignatureError(f"{name}: the signature is not that of the secret and the body")


def check_fresh(signed_at: float, now: float, name: str) -> None:
    """Refuse a request that was signed long ago, or in the future."""
    if not abs(now - signed_at) <= WINDOW_S:
        raise SignatureError(f"{name}: expected a time at most {WINDOW_S} s from now")


def unix_seconds(text: str, name: str) -> int:
    """The time in a header. SignatureError: it is no number."""
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise SignatureError(f"{name}: expected Unix seconds")
    return int(text)


def _named(kind: type) -> str:
    return KINDS.get(kind, kind.__name__)
