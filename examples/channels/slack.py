"""Slack: Events API in, chat.postMessage out. A thread is a conversation; a direct message is one too."""

from __future__ import annotations

import hashlib
import hmac
import html
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from .recipe import (
    Gone,
    Inbound,
    Json,
    Lookup,
    PayloadError,
    Recipe,
    Request,
    SendRefused,
    Setup,
    TryLater,
    address,
    attached,
    check_fresh,
    check_same,
    event,
    find,
    header,
    instant,
    read,
    unix_seconds,
    written_by,
)
from .slack_forms import escaped, presses

NAME: Final = "slack"
DIRECT: Final = "direct"
"""Instead of a thread, in a direct message."""
TOKEN_ERRORS: Final = (
    *("invalid_auth", "not_authed", "token_expired", "token_revoked", "account_inactive"),
    *("missing_scope", "not_allowed_token_type", "access_denied"),
)
PASSING_ERRORS: Final = (
    *("internal_error", "fatal_error", "service_unavailable", "request_timeout"),
    *("ratelimited", "rate_limited", "accesslimited", "rollup_error", "message_limit_exceeded"),
    *("team_added_to_org", "org_login_required", "external_channel_migrating"),
)
"""Slack's own failures, its limits, and the move of a workspace into an organization."""
PASSING_WAIT_S: Final = 5
WRITTEN: Final = (None, "file_share", "me_message", "thread_broadcast")
"""Subtypes of messages that a person wrote; the others are notices such as ``channel_join``."""


def check(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> None:
    """SignatureError unless Slack signed the request with the app's signing secret."""
    signed_at = header(headers, "X-Slack-Request-Timestamp")
    check_fresh(unix_seconds(signed_at, "X-Slack-Request-Timestamp"), now, "X-Slack-Request-Timestamp")
    digest = hmac.new(secret.encode(), f"v0:{signed_at}:".encode() + body, hashlib.sha256).hexdigest()
    check_same(f"v0={digest}", header(headers, "X-Slack-Signature"), "X-Slack-Signature")


def answer(payload: Json) -> Json:
    """What the request is answered with at once: the challenge, when Slack checks the address."""
    challenge = find(payload, "challenge", str)
    return {"challenge": challenge} if challenge else {}


def events(payload: Json, setup: Setup) -> list[Json]:
    """The events of a callback; none for bots, ourselves and notices."""
    if find(payload, "type", str) != "event_callback" or find(payload, "event.type", str) != "message":
        return []
    happened = read(payload, "event", dict)
    match find(happened, "subtype", str):
        case "message_changed":
            before = find(happened, "previous_message", dict) or {}
            message = read(happened, "message", dict)
            if _is_tombstone(message):
                return _deletion(happened, before, read(message, "ts", str), setup)
            is_changed = find(before, "text", str) != find(message, "text", str)
            by_person = bool(before or message.get("edited"))  # else Slack added a preview or a reply, say
            return _event(happened, message, setup, "message_edited") if is_changed and by_person else []
        case "message_deleted":
            before = find(happened, "previous_message", dict) or {}
            stamp = find(happened, "deleted_ts", str) or read(before, "ts", str)
            return _deletion(happened, before, stamp, setup)
        case subtype if subtype in WRITTEN:
            return _event(happened, happened, setup)
    return []


def send(reply: Json, setup: Setup, key: str) -> Request:
    """A reply in the thread of the conversation; by its key in `metadata` it is found again."""
    channel, thread = address(reply, NAME, 2)
    body: Json = {
        "channel": channel,
        "text": escaped(read(reply, "text", str)),
        "metadata": {"event_type": "hushgate_reply", "event_payload": {"key": key}},
    }
    if thread != DIRECT:
        body["thread_ts"] = thread
    return Request(method="POST", path="/chat.postMessage", body=body)


def check_answer(answer: Json) -> None:
    """Slack reports most errors in the body of a 200."""
    error = str(answer.get("error"))
    if answer.get("ok") is True:
        return
    if error in TOKEN_ERRORS:
        raise TryLater(f"Slack: {error}; correct the token", after_s=15)
    if error in PASSING_ERRORS:
        raise TryLater(f"Slack: {error}", after_s=PASSING_WAIT_S, is_limit="limit" in error)
    raise (Gone if error == "message_not_found" else SendRefused)(f"Slack: {error}")


def thread_of(reply: Json) -> Request:
    """The messages of the conversation after the one that is answered, with their metadata."""
    channel, thread = address(reply, NAME, 2)
    query = {"channel": channel, "oldest": read(reply, "message_id", str), "include_all_metadata": "true"}
    method = "conversations.history"
    if thread != DIRECT:
        method, query["ts"] = "conversations.replies", thread
    return Request(method="GET", path=f"/{method}?{urlencode(query)}&limit=200")


def sent_before(answer: Json, reply: Json, setup: Setup, key: str) -> str | None:
    """The time stamp of the message with our key."""
    for message in read(answer, "messages", list):
        if find(message, "metadata.event_payload.key", str) == key:
            return read(message, "ts", str)
    return None


def sent_id(answer: Json, setup: Setup) -> str:
    """The message's time stamp."""
    return read(answer, "ts", str)


def retract(retraction: Json, setup: Setup, sent_id: str) -> Request:
    """Delete our message."""
    channel, _ = address(retraction, NAME, 2)
    return Request(method="POST", path="/chat.delete", body={"channel": channel, "ts": sent_id})


def announce(text: str, escalation: Json, setup: Setup) -> list[Request]:
    """A message in the team's channel, ``setup.place``."""
    if not setup.place:
        return []
    body = {"channel": setup.place, "text": escaped(text)}
    return [Request(method="POST", path="/chat.postMessage", body=body)]


def _is_tombstone(message: Json) -> bool:
    """Whether a message stands for a deleted one that has replies: the root of a thread."""
    return find(message, "subtype", str) == "tombstone"


def _deletion(happened: Json, before: Json, stamp: str, setup: Setup) -> list[Json]:
    """The deletion of a message; that of a thread's root, or without the former message, names no author."""
    if not before or _is_tombstone(before) or not find(before, "user", str):
        before = {
            "thread_ts": find(before, "thread_ts", str),
            "bot_id": before.get("bot_id"),
            "user": "unknown",
        }
    return _event(happened, before | {"ts": stamp}, setup, "message_deleted")


def _event(happened: Json, message: Json, setup: Setup, kind: str = "") -> list[Json]:
    is_by_bot = message.get("bot_id") or find(message, "subtype", str) == "bot_message"
    author = find(message, "user", str)
    if is_by_bot or author in (None, setup.own_id, "USLACKBOT"):  # workflows have no user
        return []
    channel, stamp = read(happened, "channel", str), read(message, "ts", str)
    if channel == setup.place:  # the team among itself
        return []
    thread = find(message, "thread_ts", str) or stamp
    is_gone = kind == "message_deleted"
    is_direct = channel.startswith("D") and thread == stamp  # an assistant's chat shows only its thread
    return event(
        setup,
        type=kind or written_by(setup, author),
        scope="chat",
        conversation_id=f"{NAME}:{channel}:{DIRECT if is_direct else thread}",
        message_id=stamp,
        author_id=author,
        text="" if is_gone else _text(message),
        # `url_private` needs the bot's token. A public URL of it would show a workspace's file to the
        # moderation server and to everyone with the link: the file is counted, and people see it in Slack.
        attachments=[] if is_gone else attached(message, "files", "", "mimetype"),
        created_at=_time(read(happened, "event_ts", str)),
        parent_id=thread if thread != stamp else None,
    )


def _text(message: Json) -> str:
    """The text; without one that of the messages which are forwarded."""
    forwarded = (
        find(each, "text", str) or find(each, "fallback", str) or ""
        for each in find(message, "attachments", list) or []
    )
    return html.unescape(find(message, "text", str) or "\n".join(filter(None, forwarded)))


def _time(stamp: str) -> str:
    try:
        return instant(float(stamp))
    except ValueError as error:
        raise PayloadError("event_ts: expected Unix seconds, got another text") from error


RECIPE: Final = Recipe(
    name=NAME,
    url="https://slack.com/api",
    authorization="Bearer {token}",
    send=send,
    sent_id=sent_id,
    retract=retract,
    announce=announce,
    inbound=Inbound(check=check, answer=answer, events=events, presses=presses),
    lookup=Lookup(request=thread_of, sent_id=sent_before),
    check_answer=check_answer,
)
