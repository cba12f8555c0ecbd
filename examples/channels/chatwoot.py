"""Chatwoot: an agent bot. Webhooks in, messages out; a handoff opens the conversation for the team.

Its address is that of the account: ``https://app.chatwoot.com/api/v1/accounts/1``. Agent bots are signed from
Chatwoot 4.13 on. A bot may write and change the status, but neither read nor delete messages.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

from .recipe import (
    Change,
    Inbound,
    Json,
    Lookup,
    OwnerChange,
    Recipe,
    Request,
    Setup,
    address,
    attached,
    check_fresh,
    check_same,
    event,
    find,
    header,
    instant,
    read,
    read_id,
    same_text,
    unix_seconds,
)

NAME: Final = "chatwoot"
WITH_PEOPLE: Final = ("open", "snoozed")
"""Status of a conversation that the team answers; a bot answers in ``pending`` ones."""
CHANGES: Final = ("conversation_opened", "conversation_resolved", "conversation_status_changed")
RETRIED: Final = 500
"""Chatwoot repeats 429 and 500, three times within seconds; any other failure opens the conversation."""
LATEST_S: Final = 2**40
"""Times beyond are none: a time that never ends would overtake every later change."""
OUTGOING: Final = 1
"""``message_type`` of the API, which webhooks write as a word."""


def check(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> None:
    """SignatureError unless Chatwoot signed time and body with the secret of the agent bot."""
    signed_at = header(headers, "X-Chatwoot-Timestamp")
    check_fresh(unix_seconds(signed_at, "X-Chatwoot-Timestamp"), now, "X-Chatwoot-Timestamp")
    digest = hmac.new(secret.encode(), f"{signed_at}.".encode() + body, hashlib.sha256).hexdigest()
    check_same(f"sha256={digest}", header(headers, "X-Chatwoot-Signature"), "X-Chatwoot-Signature")


def events(payload: Json, setup: Setup) -> list[Json]:
    """The events of a webhook; none for bots, notes, templates, activities and changes of the status."""
    kind = read(payload, "event", str)
    deleted = kind == "message_updated" and find(payload, "content_attributes.deleted", bool)
    if (kind != "message_created" and not deleted) or find(payload, "private", bool):
        return []
    direction = read(payload, "message_type", str)
    by_team = direction == "outgoing" and _is_by_person(payload)
    if direction != "incoming" and (deleted or not by_team):
        return []
    return event(
        setup,
        type="message_deleted" if deleted else "agent_message" if by_team else "message",
        scope="chat",
        conversation_id=_place(payload, "conversation.id"),
        message_id=read_id(payload, "id"),
        author_id=_author(payload, by_team=by_team),
        text="" if deleted else find(payload, "content", str) or "",
        attachments=[] if deleted else attached(payload, "attachments", "data_url", "file_type"),
        created_at=_time(payload),
    )


def owner(payload: Json) -> OwnerChange | None:
    """The status of a conversation changed, or a customer writes in one that the team answers."""
    kind = read(payload, "event", str)
    if kind in CHANGES:
        conversation = payload
    elif kind == "message_created" and read(payload, "message_type", str) == "incoming":
        conversation = read(payload, "conversation", dict)
    else:
        return None
    by_people = read(conversation, "status", str) in WITH_PEOPLE
    if conversation is not payload and not by_people:
        return None  # it may wait for a handoff that is under way
    change = Change.TAKE if by_people else Change.RELEASE
    return OwnerChange(conversation=_place(conversation, "id"), change=change, at=_changed_at(conversation))


def send(reply: Json, setup: Setup, key: str) -> Request:
    """A message of the bot."""
    return _message(reply, read(reply, "text", str), private=False)


def messages_of(reply: Json) -> Request:
    """The messages after the one that is answered."""
    (conversation,) = address(reply, NAME)
    after = int(read(reply, "message_id", str))
    path = f"/conversations/{conversation}/messages?after={after}"
    return Request(method="GET", path=path, as_person=True)


def sent_before(answer: Json, reply: Json, setup: Setup, key: str) -> str | None:
    """The id of the bot's message with the reply's text."""
    for message in read(answer, "payload", list):
        is_public = find(message, "message_type", int) == OUTGOING and not find(message, "private", bool)
        is_ours = is_public and find(message, "sender.type", str) == "agent_bot"
        if is_ours and same_text(read(reply, "text", str), find(message, "content", str) or ""):
            return read_id(message, "id")
    return None


def sent_id(answer: Json, setup: Setup) -> str:
    """The message's id."""
    return read_id(answer, "id")


def retract(retraction: Json, setup: Setup, sent_id: str) -> Request:
    """Delete our message: Chatwoot shows that it was deleted."""
    (conversation,) = address(retraction, NAME)
    path = f"/conversations/{conversation}/messages/{sent_id}"
    return Request(method="DELETE", path=path, as_person=True)


def announce(text: str, escalation: Json, setup: Setup) -> list[Request]:
    """Open the conversation for the team, then a private note with the draft that was not sent."""
    (conversation,) = address(escalation, NAME)
    body: Json = {"status": "open"}
    handoff = Request(method="POST", path=f"/conversations/{conversation}/toggle_status", body=body)
    draft = find(escalation, "draft", str)
    note = f"{text}\n\nNot sent:\n\n{draft}" if draft else text
    return [handoff, _message(escalation, note.replace("mention://", "mention: //"), private=True)]


def _message(entry: Json, text: str, *, private: bool) -> Request:
    (conversation,) = address(entry, NAME)
    body: Json = {"content": text, "message_type": "outgoing", "private": private}
    return Request(method="POST", path=f"/conversations/{conversation}/messages", body=body)


def _is_by_person(payload: Json) -> bool:
    """Whether a person wrote, in Chatwoot or in the channel's own app; no campaign and no automation."""
    machines = ("additional_attributes.campaign_id", "content_attributes.automation_rule_id")
    if any(find(payload, each, object) for each in machines):
        return False
    by_user = find(payload, "sender.type", str) == "user"
    return by_user or bool(find(payload, "content_attributes.external_echo", bool))


def _author(payload: Json, *, by_team: bool) -> str:
    known = find(payload, "sender.id", object) is not None
    return f"{'user' if by_team else 'contact'}-{read_id(payload, 'sender.id') if known else 'unknown'}"


def _place(payload: Json, path: str) -> str:
    return f"{NAME}:{read_id(payload, path)}"


def _changed_at(conversation: Json) -> float:
    """When the conversation changed, Unix seconds; 0 where Chatwoot does not say."""
    at = find(conversation, "updated_at", object)
    return float(at) if isinstance(at, int | float) and 0 <= at < LATEST_S else 0.0


def _time(payload: Json) -> str:
    seconds = find(payload, "created_at", object)
    return instant(seconds) if type(seconds) is int else read(payload, "created_at", str)


RECIPE: Final = Recipe(
    name=NAME,
    url="",
    authorization="{token}",
    key_header="api_access_token",
    needs_own_id=False,
    send=send,
    sent_id=sent_id,
    retract=retract,
    announce=announce,
    inbound=Inbound(check=check, events=events, retry_status=RETRIED, owner=owner),
    lookup=Lookup(request=messages_of, sent_id=sent_before),
)
