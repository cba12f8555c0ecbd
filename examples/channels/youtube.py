"""YouTube comments: pages of the Data API in, comments.insert out. YouTube sends no requests: poll it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeAlias
from urllib.parse import urlencode

from .recipe import (
    KNOWN_S,
    Json,
    Lookup,
    PayloadError,
    Recipe,
    Request,
    Setup,
    address,
    event,
    find,
    read,
    same_text,
    written_by,
)

NAME: Final = "youtube"
PUBLISHED: Final = "snippet.publishedAt"
SETTLE_S: Final = 120
"""Younger comments of our own channel are left for the next poll: the consumer may be recording their ids."""
Known: TypeAlias = Callable[[str], bool]
"""Whether an id is known."""


def page(setup: Setup) -> Request:
    """The request for the newest hundred threads of the channel ``setup.own_id``."""
    query = {"part": "snippet,replies", "allThreadsRelatedToChannelId": setup.own_id, "order": "time"}
    return _get("/commentThreads", query)


def replies(thread: str) -> Request:
    """The request for the newest hundred replies of a thread: a page of threads shows only some of them."""
    return _get("/comments", {"part": "snippet", "parentId": thread})


def events(payload: Json, setup: Setup, *, sent: Known, unknown: Known, now: datetime) -> list[Json]:
    """The events of a page of threads or comments; the same ones again when a page is read again.

    Args:
        payload: the answer of commentThreads.list or comments.list.
        setup: whose inbox it is.
        sent: whether the consumer sent the comment of an id. Team and AI write as the same channel: what the
            channel wrote and the consumer did not is a message of a person, while such ids are known.
        unknown: whether a comment of ours in a conversation may be a reply whose outcome is not known yet: it
            is left for a later poll.
        now: the time of the poll.
    """
    made = []
    for item in read(payload, "items", list):
        for comment in _comments(item):
            made += _events(comment, setup, sent, unknown, now)
    return made


def send(reply: Json, setup: Setup, key: str) -> Request:
    """A comment below the thread's first one."""
    (thread,) = address(reply, NAME)
    snippet = {"parentId": thread, "textOriginal": read(reply, "text", str)}
    return Request(method="POST", path="/comments?part=snippet", body={"snippet": snippet})


def thread_of(reply: Json) -> Request:
    """The replies of the thread."""
    return replies(*address(reply, NAME))


def sent_before(answer: Json, reply: Json, setup: Setup, key: str) -> str | None:
    """The id of our comment with the reply's text, no older than the comment that is answered."""
    items = read(answer, "items", list)
    answered = [_time(each, PUBLISHED) for each in items if find(each, "id", str) == reply["message_id"]]
    for each in items:
        text = find(each, "snippet.textDisplay", str) or ""
        ours = find(each, "snippet.authorChannelId.value", str) == setup.own_id
        is_later = all(_time(each, PUBLISHED) >= earliest for earliest in answered)
        if ours and is_later and same_text(read(reply, "text", str), text):
            return read(each, "id", str)
    return None


def sent_id(answer: Json, setup: Setup) -> str:
    """The comment's id."""
    return read(answer, "id", str)


def retract(retraction: Json, setup: Setup, sent_id: str) -> Request:
    """Delete our comment."""
    return Request(method="DELETE", path=f"/comments?{urlencode({'id': sent_id})}")


def announce(text: str, escalation: Json, setup: Setup) -> list[Request]:
    """YouTube has no place that only the team sees."""
    return []


def _get(path: str, query: dict[str, str]) -> Request:
    plain = query | {"textFormat": "plainText", "maxResults": "100"}
    return Request(method="GET", path=f"{path}?{urlencode(plain)}")


def _comments(item: object) -> list[object]:
    if find(item, "kind", str) == "youtube#comment":
        return [item]
    replies = find(item, "replies.comments", list) or []
    return [read(item, "snippet.topLevelComment", dict), *replies]


def _events(comment: object, setup: Setup, sent: Known, unknown: Known, now: datetime) -> list[Json]:
    number, author = read(comment, "id", str), find(comment, "snippet.authorChannelId.value", str)
    published, updated = _time(comment, PUBLISHED), _time(comment, "snippet.updatedAt")
    parent = find(comment, "snippet.parentId", str)
    conversation = f"{NAME}:{parent or number}"
    ours = author == setup.own_id
    is_settled = SETTLE_S <= (now - published).total_seconds() < KNOWN_S
    if ours and (not is_settled or unknown(conversation) or sent(number)):  # in this order, see Marks.end
        return []
    common: Json = {
        "scope": "comment",
        "conversation_id": conversation,
        "message_id": number,
        "author_id": author or "unknown",
        "text": find(comment, "snippet.textDisplay", str) or "",
        "parent_id": parent,
    }
    kind = "agent_message" if ours else written_by(setup, common["author_id"])
    made = event(setup, **common, type=kind, created_at=published.isoformat())
    if updated > published:
        made += event(setup, **common, type="message_edited", created_at=updated.isoformat())
    return made


def _time(comment: object, path: str) -> datetime:
    try:
        found = datetime.fromisoformat(read(comment, path, str))
    except ValueError as error:
        raise PayloadError(f"{path}: expected a time in RFC 3339, got another text") from error
    if found.tzinfo is None:
        raise PayloadError(f"{path}: expected a time with an offset, got one without")
    return found


RECIPE: Final = Recipe(
    name=NAME,
    url="https://www.googleapis.com/youtube/v3",
    authorization="Bearer {token}",
    send=send,
    sent_id=sent_id,
    retract=retract,
    announce=announce,
    lookup=Lookup(request=thread_of, sent_id=sent_before),
)
