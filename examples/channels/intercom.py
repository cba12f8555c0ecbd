"""Intercom: notifications in, conversation replies out. Texts are HTML in both directions."""

from __future__ import annotations

import hashlib
import hmac
import html
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Final

from .recipe import (
    Inbound,
    Json,
    Lookup,
    Recipe,
    Request,
    SendRefused,
    Setup,
    address,
    attached,
    check_same,
    event,
    find,
    header,
    instant,
    read,
    read_id,
    same_text,
)

NAME: Final = "intercom"
VERSION: Final = {"Intercom-Version": "2.13"}
STARTED: Final = ("conversation.user.created", "conversation.admin.single.created")
CONTINUED: Final = ("conversation.user.replied", "conversation.admin.replied")
REDACTED: Final = "conversation_part.redacted"
CUSTOMERS: Final = ("user", "lead", "contact")
TAG: Final = re.compile(r"<[^<>]*>")
AUTOMATED: Final = ("automated", "campaigns_initiated", "operator_initiated")
BREAKS: Final = ("br", "p", "div", "li", "h1", "h2", "h3", "blockquote", "pre", "tr")


def check(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> None:
    """SignatureError unless Intercom signed the body with the app's client secret; it signs no time."""
    digest = hmac.new(secret.encode(), body, hashlib.sha1).hexdigest()
    check_same(f"sha1={digest}", header(headers, "X-Hub-Signature"), "X-Hub-Signature")


def events(payload: Json, setup: Setup) -> list[Json]:
    """The events of a notification; none for bots, ourselves, notes and other topics."""
    topic, item = read(payload, "topic", str), read(payload, "data.item", dict)
    if topic in STARTED:
        return _event(item, read(item, "source", dict), item, setup)
    if topic in CONTINUED or topic == REDACTED:
        kind = "message_deleted" if topic == REDACTED else ""
        parts = read(item, "conversation_parts.conversation_parts", list)
        return [made for part in parts for made in _event(item, part, part, setup, kind)]
    return []


def send(reply: Json, setup: Setup, key: str) -> Request:
    """A comment of the teammate ``setup.own_id``."""
    return _comment(reply, setup, "comment", read(reply, "text", str))


def conversation_of(reply: Json) -> Request:
    """The conversation with its parts."""
    (conversation,) = address(reply, NAME)
    return Request(method="GET", path=f"/conversations/{conversation}", headers=VERSION)


def sent_before(answer: Json, reply: Json, setup: Setup, key: str) -> str | None:
    """The id of our part with the reply's text after the message that is answered."""
    parts = read(answer, "conversation_parts.conversation_parts", list)
    ids = [read_id(part, "id") for part in parts]
    answered = read(reply, "message_id", str)
    for part in parts[ids.index(answered) + 1 if answered in ids else 0 :]:
        text = _plain(find(part, "body", str) or "")
        if read_id(part, "author.id") == setup.own_id and same_text(read(reply, "text", str), text):
            return read_id(part, "id")
    return None


def sent_id(answer: Json, setup: Setup) -> str:
    """The id of our newest comment in the conversation that is returned: others write at the same time."""
    for part in reversed(read(answer, "conversation_parts.conversation_parts", list)):
        if find(part, "body", str) and not _is_note(part) and read_id(part, "author.id") == setup.own_id:
            return read_id(part, "id")
    raise SendRefused("Intercom: the answer has no comment of ours")


def retract(retraction: Json, setup: Setup, sent_id: str) -> Request:
    """Redact our comment: the customer sees that a message was deleted."""
    (conversation,) = address(retraction, NAME)
    body = {"type": "conversation_part", "conversation_id": conversation, "conversation_part_id": sent_id}
    return Request(method="POST", path="/conversations/redact", body=body, headers=VERSION)


def announce(text: str, escalation: Json, setup: Setup) -> list[Request]:
    """A note in the conversation, which only the team sees."""
    return [_comment(escalation, setup, "note", text)]


def _event(item: Json, part: object, dated: object, setup: Setup, kind: str = "") -> list[Json]:
    author, is_known = find(part, "author.type", str), find(part, "author.id", object) is not None
    author_id = read_id(part, "author.id") if is_known else "unknown"
    if author not in (*CUSTOMERS, "admin") or author_id == setup.own_id:
        return []
    if _is_note(part) or (author == "admin" and _is_automatic(part)):
        return []
    deleted = kind == "message_deleted"
    return event(
        setup,
        type=kind or ("agent_message" if author == "admin" else "message"),
        scope="chat",
        conversation_id=f"{NAME}:{read_id(item, 'id')}",
        message_id=read_id(part, "id"),
        author_id=author_id,
        text="" if deleted else _plain(find(part, "body", str) or ""),
        attachments=[] if deleted else _attached(part),
        created_at=instant(read(dated, "updated_at" if deleted else "created_at", int)),
    )


def _is_note(part: object) -> bool:
    """Whether only the team sees a part: ``note`` or ``note_and_reopen``."""
    return (find(part, "part_type", str) or "").startswith("note")


def _is_automatic(part: object) -> bool:
    """Whether a campaign, a workflow or an AI agent wrote by the name of a teammate."""
    by_ai = find(part, "author.from_ai_agent", bool) or False
    return by_ai or find(part, "delivered_as", str) in AUTOMATED


def _attached(part: object) -> list[Json | str]:
    """The files of a message, and the images within its text."""
    reader = _read_markup(find(part, "body", str) or "")
    return [*attached(part, "attachments", "url", "content_type"), *reader.images]


def _comment(entry: Json, setup: Setup, kind: str, text: str) -> Request:
    (conversation,) = address(entry, NAME)
    body = {"message_type": kind, "type": "admin", "admin_id": setup.own_id, "body": _marked_up(text)}
    return Request(method="POST", path=f"/conversations/{conversation}/reply", body=body, headers=VERSION)


def _marked_up(text: str) -> str:
    """HTML that shows the text as it is: a reply brings no markup of its own."""
    return html.escape(text, quote=False).replace("\n", "<br>")


def _plain(markup: str) -> str:
    """The text of Intercom's HTML."""
    return "\n".join(
        line for line in map(str.strip, "".join(_read_markup(markup).texts).splitlines()) if line
    )


def _read_markup(markup: str) -> _Reader:
    reader = _Reader()
    try:
        reader.feed(markup)
        reader.close()
    except AssertionError:  # how Python's parser refuses "<![", which browsers show
        reader.texts = [html.unescape(TAG.sub(" ", markup))]
    return reader


class _Reader(HTMLParser):
    """Collects the texts between tags, and the URLs of images."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.images: list[str] = []

    def handle_data(self, data: str) -> None:
        """A text."""
        self.texts.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A new line where a block begins; an image."""
        self.images += [value for name, value in attrs if tag == "img" and name == "src" and value]
        if tag in BREAKS:
            self.texts.append("\n")


RECIPE: Final = Recipe(
    name=NAME,
    url="https://api.intercom.io",
    authorization="Bearer {token}",
    send=send,
    sent_id=sent_id,
    retract=retract,
    announce=announce,
    inbound=Inbound(check=check, events=events),
    lookup=Lookup(request=conversation_of, sent_id=sent_before),
)
