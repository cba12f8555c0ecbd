"""Zendesk Support: ticket events in, public comments out. Its address is that of your own subdomain."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from .recipe import (
    Inbound,
    Json,
    Lookup,
    Recipe,
    Request,
    SendRefused,
    Setup,
    SignatureError,
    address,
    attached,
    check_fresh,
    check_same,
    event,
    find,
    header,
    read,
    read_id,
    same_text,
    written_by,
)

NAME: Final = "zendesk"
SIGNATURE: Final = "X-Zendesk-Webhook-Signature"
ADDED: Final = "zen:event-type:ticket.comment_added"
SYSTEM: Final = "-1"
"""The author of what Zendesk itself writes, such as the note of a merge."""
REDACTED: Final = "zen:event-type:ticket.comment_redacted"


def check(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> None:
    """SignatureError unless Zendesk signed time and body with the webhook's signing secret."""
    signed_at = header(headers, f"{SIGNATURE}-Timestamp")
    digest = hmac.new(secret.encode(), signed_at.encode() + body, hashlib.sha256).digest()
    check_same(base64.b64encode(digest).decode(), header(headers, SIGNATURE), SIGNATURE)
    try:
        signed = datetime.fromisoformat(signed_at).timestamp()
    except ValueError as error:
        raise SignatureError(f"{SIGNATURE}-Timestamp: expected a time in ISO 8601") from error
    check_fresh(signed, now, f"{SIGNATURE}-Timestamp")


def events(payload: Json, setup: Setup) -> list[Json]:
    """The events of a ticket event; none for ourselves, Zendesk, private comments and other types."""
    kind = read(payload, "type", str)
    if kind not in (ADDED, REDACTED):
        return []
    comment = read(payload, "event.comment", dict)
    is_ours = bool(find(comment, "author.id", object)) and read_id(comment, "author.id") == setup.own_id
    if is_ours or find(comment, "is_public", bool) is False:
        return []
    place: Json = {
        "scope": "chat",
        "conversation_id": f"{NAME}:{read_id(payload, 'detail.id')}",
        "message_id": read_id(comment, "id"),
        "created_at": read(payload, "time", str),
    }
    if kind == REDACTED:  # names no author
        return event(setup, **place, type="message_deleted", author_id="unknown")
    author = read_id(comment, "author.id") if find(comment, "author.id", object) else SYSTEM
    if author == SYSTEM:
        return []
    staff = find(comment, "author.is_staff", bool)
    return event(
        setup,
        **place,
        type="agent_message" if staff else written_by(setup, author),
        author_id=author,
        text=find(comment, "body", str) or "",
        attachments=attached(comment, "attachments", "content_url", "content_type"),
    )


def send(reply: Json, setup: Setup, key: str) -> Request:
    """A public comment of the agent ``setup.own_id``."""
    return _comment(reply, read(reply, "text", str), setup, public=True)


def comments_of(reply: Json) -> Request:
    """The newest comments of the ticket, newest first."""
    (ticket,) = address(reply, NAME)
    return Request(method="GET", path=f"/tickets/{ticket}/comments?sort=-created_at")


def sent_before(answer: Json, reply: Json, setup: Setup, key: str) -> str | None:
    """The id of our comment with the reply's text after the comment that is answered."""
    for comment in read(answer, "comments", list):
        if read_id(comment, "id") == reply["message_id"]:
            return None
        text = find(comment, "plain_body", str) or ""
        if read_id(comment, "author_id") == setup.own_id and same_text(read(reply, "text", str), text):
            return read_id(comment, "id")
    return None


def sent_id(answer: Json, setup: Setup) -> str:
    """The comment's id, which the audit of the change has."""
    for each in read(answer, "audit.events", list):
        if find(each, "type", str) == "Comment":
            return read_id(each, "id")
    raise SendRefused("Zendesk: the answer has no comment")


def retract(retraction: Json, setup: Setup, sent_id: str) -> Request:
    """Make our comment private. An e-mail that Zendesk sent about it cannot be taken back."""
    (ticket,) = address(retraction, NAME)
    return Request(method="PUT", path=f"/tickets/{ticket}/comments/{sent_id}/make_private")


def announce(text: str, escalation: Json, setup: Setup) -> list[Request]:
    """A private comment on the ticket."""
    return [_comment(escalation, text, setup, public=False)]


def _comment(entry: Json, text: str, setup: Setup, *, public: bool) -> Request:
    (ticket,) = address(entry, NAME)
    comment: Json = {"body": text, "public": public, "author_id": int(setup.own_id)}
    return Request(method="PUT", path=f"/tickets/{ticket}", body={"ticket": {"comment": comment}})


RECIPE: Final = Recipe(
    name=NAME,
    url="",
    authorization="Bearer {token}",
    send=send,
    sent_id=sent_id,
    retract=retract,
    announce=announce,
    inbound=Inbound(check=check, events=events),
    lookup=Lookup(request=comments_of, sent_id=sent_before),
)
