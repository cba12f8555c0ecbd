"""Telegram: updates of a webhook in, sendMessage out. In groups it answers only when it is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from .recipe import (
    Inbound,
    Json,
    Recipe,
    Request,
    SendRefused,
    Setup,
    address,
    check_same,
    event,
    find,
    header,
    instant,
    read,
    read_id,
    written_by,
)

NAME: Final = "telegram"
HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"
MAIN: Final = "main"
"""Instead of a forum's topic."""
MOST_CHARS: Final = 4096
"""Of a message, in UTF-16 code units."""
GROUPS: Final = ("group", "supergroup")
FILES: Final = (
    *("animation", "audio", "document", "sticker", "video", "video_note", "voice"),
    *("contact", "location", "poll", "venue"),
)
"""What a message shows beside its text and photo."""
TOKEN: Final = re.compile(r"\d+:[\w-]+", re.ASCII)
"""What BotFather gives; to another form Telegram answers 404, as if the message were gone."""
START: Final = re.compile(r"/start(@\w+)?(\s+[\w-]{1,64})?\s*", re.ASCII)
"""What Telegram writes for a person who opens the chat with the bot, with the parameter of a link."""


def check(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> None:
    """SignatureError unless the request has the `secret_token` of setWebhook.

    Telegram signs neither body nor time; a repeated update has the same event id.
    """
    check_same(secret, header(headers, HEADER), HEADER)


def events(payload: Json, setup: Setup) -> list[Json]:
    """The events of an update; none for bots, posts of channels, and group messages to others."""
    message, kind = _written(payload)
    return _event(message, setup, kind) if _is_for_us(message, setup) else []


def changes(payload: Json, setup: Setup) -> list[Json]:
    """An edit by which a group's message names the bot no more."""
    message, kind = _written(payload)
    return _event(message, setup, kind) if kind and not _is_for_us(message, setup) else []


def album(payload: Json) -> str | None:
    """The id of the album of a new message; Telegram sends each photo of it as a message."""
    return find(payload, "message.media_group_id", str)


def send(reply: Json, setup: Setup, key: str) -> Request:
    """A message without markup that answers the author's. SendRefused: it is longer than Telegram takes."""
    text = read(reply, "text", str)
    if (units := len(text.encode("utf-16-le")) // 2) > MOST_CHARS:
        raise SendRefused(f"text: expected at most {MOST_CHARS} UTF-16 units, got {units}")
    chat, topic = address(reply, NAME, 2)
    body = _message(chat, text)
    answered = int(read(reply, "message_id", str))
    body["reply_parameters"] = {"message_id": answered, "allow_sending_without_reply": True}
    if topic != MAIN:
        body["message_thread_id"] = int(topic)
    return Request(method="POST", path="/sendMessage", body=body)


def moved(request: Request, answer: object) -> Request | None:
    """The message to the supergroup that a group became; there the id of the author's is another one."""
    chat = find(answer, "parameters.migrate_to_chat_id", int)
    if chat is None or "text" not in (body := dict(request.body or {})):
        return None
    body.pop("reply_parameters", None)
    return replace(request, body=body | {"chat_id": chat})


def sent_id(answer: Json, setup: Setup) -> str:
    """The chat and the message's id in it: a chat that moved has another one."""
    return f"{read(answer, 'result.chat.id', int)}:{read_id(answer, 'result.message_id')}"


def retract(retraction: Json, setup: Setup, sent_id: str) -> Request:
    """Delete our message; Telegram takes this for 48 hours."""
    chat, _, message = sent_id.rpartition(":")
    body = {"chat_id": int(chat), "message_id": int(message)}
    return Request(method="POST", path="/deleteMessage", body=body)


def announce(text: str, escalation: Json, setup: Setup) -> list[Request]:
    """A message in the team's chat, ``setup.place``."""
    if not setup.place:
        return []
    return [Request(method="POST", path="/sendMessage", body=_message(setup.place, text))]


def _message(chat: str, text: str) -> Json:
    """The body of a message to a chat: its id, or the ``@name`` of a public group."""
    return {
        "chat_id": chat if chat.startswith("@") else int(chat),
        "text": text,
        "link_preview_options": {"is_disabled": True},
    }


def _written(payload: Json) -> tuple[Json, str]:
    """The message of an update, empty for other updates, and the type of its event unless it is new."""
    read(payload, "update_id", int)
    for name, kind in (("message", ""), ("edited_message", "message_edited")):
        if message := find(payload, name, dict):
            return message, kind
    return {}, ""


def _is_for_us(message: Json, setup: Setup) -> bool:
    """Whether a message is private, of the team, or asks the bot."""
    return bool(message) and (
        not _is_in_group(message) or _is_by_team(message, setup) or _is_asked(message, setup)
    )


def _event(message: Json, setup: Setup, kind: str) -> list[Json]:
    author, _ = _author(message)
    text = _text(message)
    is_moved = bool(kind) and find(message, "location", dict) is not None  # a live one, every few seconds
    if not author or is_moved or (not kind and START.fullmatch(text)):
        return []
    chat = read(message, "chat.id", int)
    topic = find(message, "message_thread_id", int) if find(message, "is_topic_message", bool) else None
    written = read(message, "edit_date" if kind else "date", int)
    return event(
        setup,
        type=kind or ("agent_message" if _is_by_team(message, setup) else "message"),
        scope="chat",
        conversation_id=f"{NAME}:{chat}:{topic or MAIN}",
        message_id=read_id(message, "message_id"),
        author_id=author,
        text=_asked(text, setup) if _is_in_group(message) else text,
        attachments=_attached(message),
        created_at=instant(written),
        parent_id=_parent(message),
    )


def _is_in_group(message: Json) -> bool:
    return read(message, "chat.type", str) in GROUPS


def _is_by_team(message: Json, setup: Setup) -> bool:
    author, by_admin = _author(message)
    return by_admin or written_by(setup, author) == "agent_message"


def _author(message: Json) -> tuple[str, bool]:
    """Who wrote, and whether it is an anonymous administrator of the group; empty for bots and posts.

    A member may write as a channel; a post of the group's own channel is forwarded by Telegram.
    """
    if sender := find(message, "sender_chat.id", int):
        is_post = find(message, "is_automatic_forward", bool)
        return ("" if is_post else str(sender)), sender == read(message, "chat.id", int)
    if find(message, "from.is_bot", bool) or not find(message, "from", dict):
        return "", False
    return read_id(message, "from.id"), False


def _is_asked(message: Json, setup: Setup) -> bool:
    """Whether a group's message names the bot, also in a command, or answers a message of it."""
    answered = find(message, "reply_to_message.from.username", str) or ""
    names_bot = _mention(setup).search(_text(message)) is not None
    return names_bot or answered.lower() == _own_name(setup).lower()


def _asked(text: str, setup: Setup) -> str:
    """The question without the bot's name, or a command of it, before it or at its end."""
    named = _mention(setup).pattern
    return re.sub(rf"^{named}[\s,:]*|\s*{named}$", "", text, flags=re.IGNORECASE).strip() or text


def _mention(setup: Setup) -> re.Pattern[str]:
    return re.compile(rf"(?:^/\w+|(?<![\w.]))@{re.escape(_own_name(setup))}\b", re.IGNORECASE)


def _own_name(setup: Setup) -> str:
    return setup.own_id.removeprefix("@")


def _parent(message: Json) -> str | None:
    return read_id(message, "reply_to_message.message_id") if message.get("reply_to_message") else None


def _text(message: Json) -> str:
    """The text, a caption, the question of a poll, or the emoji that a sticker stands for."""
    paths = ("text", "caption", "poll.question", "sticker.emoji")
    return next(filter(None, (find(message, path, str) for path in paths)), "")


def _attached(message: Json) -> list[Json | str]:
    """What is attached. Files need the bot's token: they are counted and people see them in Telegram."""
    found: list[Json | str] = [{"content_type": "image/jpeg"}] if find(message, "photo", list) else []
    there = [(name, file) for name in FILES if (file := find(message, name, dict)) and not file.get("emoji")]
    return found + [{"content_type": find(file, "mime_type", str) or name} for name, file in there]


RECIPE: Final = Recipe(
    name=NAME,
    token_form=TOKEN,
    url="https://api.telegram.org/bot{token}",
    authorization="",
    send=send,
    sent_id=sent_id,
    retract=retract,
    announce=announce,
    moved=moved,
    inbound=Inbound(check=check, events=events, changes=changes, album=album),
)
