"""Discord: messages of the gateway and the command ``/ask`` in, channel messages out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .recipe import (
    Inbound,
    Json,
    Lookup,
    PayloadError,
    Recipe,
    Request,
    SendRefused,
    Setup,
    SignatureError,
    address,
    attached,
    check_fresh,
    event,
    find,
    header,
    instant,
    read,
    same_text,
    unix_seconds,
    written_by,
)

NAME: Final = "discord"
TEXT_CHARS: Final = 2000
NONCE_CHARS: Final = 25
WRITTEN: Final = (0, 19)
"""Types of messages that a person wrote: a message, and one that answers another."""
EPOCH_MS: Final = 1_420_070_400_000
"""Discord's ids count milliseconds from 2015 in all but their last 22 bits."""
PING: Final = 1
COMMAND: Final = 2
TYPED: Final = 3
"""The type of an option with a text."""
COMMAND_ID: Final = "command-"
"""Before the id of a command, which is no message: nothing can refer to it."""
ACCEPTED: Final = {"type": 4, "data": {"content": "Thank you, the answer follows here.", "flags": 64}}


def check(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> None:
    """SignatureError unless Discord signed the interaction; ``secret`` is the app's public key in hex."""
    signed_at = header(headers, "X-Signature-Timestamp")
    check_fresh(unix_seconds(signed_at, "X-Signature-Timestamp"), now, "X-Signature-Timestamp")
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(secret))
    try:
        key.verify(bytes.fromhex(header(headers, "X-Signature-Ed25519")), signed_at.encode() + body)
    except (InvalidSignature, ValueError) as error:
        raise SignatureError(
            "X-Signature-Ed25519: the signature is not that of the key and the body"
        ) from error


def answer(payload: Json) -> Json:
    """What an interaction is answered with within three seconds."""
    return {"type": PING} if payload.get("type") == PING else ACCEPTED


def events(payload: Json, setup: Setup) -> list[Json]:
    """The events of a gateway dispatch or an interaction; none for bots, ourselves and notices."""
    match payload.get("t"), payload.get("type"):
        case "MESSAGE_CREATE", _:
            return _message(read(payload, "d", dict), setup)
        case "MESSAGE_UPDATE", _:
            return _edit(read(payload, "d", dict), setup)
        case "MESSAGE_DELETE", _:
            return _deletion(read(payload, "d", dict), setup)
        case "MESSAGE_DELETE_BULK", _:
            deleted = read(payload, "d", dict)
            each = ({**deleted, "id": number} for number in read(deleted, "ids", list))
            return [made for one in each for made in _deletion(one, setup)]
        case None, kind if kind == COMMAND:
            return _command(payload, setup)
    return []


def send(reply: Json, setup: Setup, key: str) -> Request:
    """A message in the channel that answers the author's; Discord takes its nonce once in a few minutes."""
    (channel,) = address(reply, NAME)
    body = _content(read(reply, "text", str)) | {
        "nonce": _nonce(key),
        "enforce_nonce": True,
    }
    answered = read(reply, "message_id", str)
    if answered.isdigit():  # not a command
        body["message_reference"] = {"message_id": answered, "fail_if_not_exists": False}
    return Request(method="POST", path=f"/channels/{channel}/messages", body=body)


def messages_after(reply: Json) -> Request:
    """The hundred messages after the one that is answered."""
    (channel,) = address(reply, NAME)
    query = {"after": read(reply, "message_id", str).removeprefix(COMMAND_ID), "limit": "100"}
    return Request(method="GET", path=f"/channels/{channel}/messages?{urlencode(query)}")


def sent_before(answer: Json, reply: Json, setup: Setup, key: str) -> str | None:
    """The id of our message with the nonce or, where Discord shows none, with the text and the reference."""
    answered = read(reply, "message_id", str)
    for message in read(answer, "items", list):
        nonce = find(message, "nonce", object)
        reference = find(message, "message_reference.message_id", str) or answered
        shown = find(message, "content", str) or ""
        is_same = reference == answered and same_text(read(reply, "text", str), shown)
        is_ours = read(message, "author.id", str) == setup.own_id
        if is_ours and (is_same if nonce is None else nonce == _nonce(key)):
            return read(message, "id", str)
    return None


def sent_id(answer: Json, setup: Setup) -> str:
    """The message's id."""
    return read(answer, "id", str)


def retract(retraction: Json, setup: Setup, sent_id: str) -> Request:
    """Delete our message."""
    (channel,) = address(retraction, NAME)
    return Request(method="DELETE", path=f"/channels/{channel}/messages/{sent_id}")


def announce(text: str, escalation: Json, setup: Setup) -> list[Request]:
    """A message in the team's channel, ``setup.place``."""
    if not setup.place:
        return []
    return [Request(method="POST", path=f"/channels/{setup.place}/messages", body=_content(text))]


def _message(message: Json, setup: Setup) -> list[Json]:
    if find(message, "type", int) not in (None, *WRITTEN) or _is_automatic(message, setup):
        return []
    author = read(message, "author.id", str)
    roles = (role for role in find(message, "member.roles", list) or [] if isinstance(role, str))
    return event(
        setup,
        **_place(message),
        type=written_by(setup, author, *roles),
        author_id=author,
        text=_text(message),
        attachments=_attached(message),
        created_at=read(message, "timestamp", str),
        parent_id=None if _forwarded(message) else find(message, "message_reference.message_id", str),
    )


def _edit(message: Json, setup: Setup) -> list[Json]:
    edited_at = find(message, "edited_timestamp", str)
    if not edited_at or not message.get("author") or _is_automatic(message, setup):
        return []  # Discord added a preview, say
    return event(
        setup,
        **_place(message),
        type="message_edited",
        author_id=read(message, "author.id", str),
        text=_text(message),
        attachments=_attached(message),
        created_at=edited_at,
    )


def _text(message: Json) -> str:
    """The text; without one that of a forwarded message, or the question of a poll."""
    forwarded = (find(each, "content", str) for each in _forwarded(message))
    return (
        find(message, "content", str)
        or "\n".join(filter(None, forwarded))
        or find(message, "poll.question.text", str)
        or ""
    )


def _forwarded(message: Json) -> list[Json]:
    snapshots = find(message, "message_snapshots", list) or []
    return [each for each in (find(one, "message", dict) for one in snapshots) if each]


def _attached(message: Json) -> list[Json | str]:
    """Files and stickers, also of forwarded messages; the URL of a file is public for a day."""
    found: list[Json | str] = []
    for each in (message, *_forwarded(message)):
        found += attached(each, "attachments", "url", "content_type")
        found += attached(each, "sticker_items", "", "format_type_name")
    return found


def _deletion(message: Json, setup: Setup) -> list[Json]:
    """A deletion names no author and no time: the time is the message's own, which its id has."""
    milliseconds = (int(_snowflake(message, "id")) >> 22) + EPOCH_MS
    return event(
        setup,
        **_place(message),
        type="message_deleted",
        author_id="unknown",
        created_at=instant(milliseconds / 1000),
    )


def _command(payload: Json, setup: Setup) -> list[Json]:
    author = find(payload, "member.user", dict) or read(payload, "user", dict)
    milliseconds = (int(_snowflake(payload, "id")) >> 22) + EPOCH_MS
    return event(
        setup,
        scope="chat",
        conversation_id=f"{NAME}:{_snowflake(payload, 'channel_id')}",
        message_id=f"{COMMAND_ID}{_snowflake(payload, 'id')}",
        type=written_by(setup, read(author, "id", str)),
        author_id=read(author, "id", str),
        text=_option(find(payload, "data.options", list) or []),
        created_at=instant(milliseconds / 1000),
    )


def _option(options: list[Json]) -> str:
    """The first text that was typed for a command, or for a command below it."""
    texts = (
        find(each, "value", str)
        if find(each, "type", int) in (None, TYPED)
        else _option(find(each, "options", list) or [])
        for each in options
    )
    return next(filter(None, texts), "")


def _place(message: Json) -> Json:
    channel, number = _snowflake(message, "channel_id"), _snowflake(message, "id")
    return {"scope": "chat", "conversation_id": f"{NAME}:{channel}", "message_id": number}


def _snowflake(payload: Json, path: str) -> str:
    found = read(payload, path, str)
    if not (found.isascii() and found.isdigit() and len(found) <= 20):
        raise PayloadError(f"{path}: expected an id of digits, got another text")
    return found


def _is_automatic(message: Json, setup: Setup) -> bool:
    author = find(message, "author", dict) or {}
    return (
        bool(author.get("bot") or author.get("system") or message.get("webhook_id"))
        or author.get("id") == setup.own_id
    )


def _nonce(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:NONCE_CHARS]


def _content(text: str) -> Json:
    """A text that mentions no one: without it ``@everyone`` in a reply would notify everyone."""
    if len(text) > TEXT_CHARS:
        raise SendRefused(f"Discord: expected at most {TEXT_CHARS} characters, got {len(text)}")
    return {"content": text, "allowed_mentions": {"parse": []}}


RECIPE: Final = Recipe(
    name=NAME,
    url="https://discord.com/api/v10",
    authorization="Bot {token}",
    send=send,
    sent_id=sent_id,
    retract=retract,
    announce=announce,
    inbound=Inbound(check=check, answer=answer, events=events),
    lookup=Lookup(request=messages_after, sent_id=sent_before),
)
