"""The list of conversations that people own, and the two actions on a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from db import access_log
from db.access_log import LoggedAction
from db.history import conversation_owners
from db.history.conversation_owners import ConversationIds
from review.access import Right
from review.http.visit import Refused, Visit
from worker.payload import is_account_name, is_id

MOST: Final = 500


async def list_conversations(visit: Visit) -> Response:
    """The conversations that people own."""
    found = await conversation_owners.list_with_people(
        visit.store.pool, visit.accounts(Right.VIEW), now=visit.now, limit=MOST
    )
    await visit.log(LoggedAction.LIST, detail={"conversations": len(found)})
    return visit.render("conversations.html", conversations=found, most=MOST)


async def take(visit: Visit) -> Response:
    """Give a conversation to people."""
    await give_to_people(visit, _ids(visit))
    return _back(visit)


async def release(visit: Visit) -> Response:
    """Give a conversation back to the AI."""
    await give_to_ai(visit, _ids(visit))
    return _back(visit)


async def give_to_people(visit: Visit, ids: ConversationIds, **detail: object) -> None:
    """Let people own a conversation, with its line of the access log; 404 for an unknown one."""
    taken = await conversation_owners.take_by_command(
        visit.store.pool,
        ids,
        taken_by=visit.person.login,
        now=visit.now,
        logged=_entry(visit, ids, "taken", detail),
    )
    if not taken:
        raise Refused(404, "Unknown conversation", "No event of this conversation is stored.")


async def give_to_ai(visit: Visit, ids: ConversationIds, **detail: object) -> None:
    """Let the AI own a conversation, with its line of the access log; 409 when the AI owns it already."""
    released = await conversation_owners.release_conversation(
        visit.store.pool,
        ids,
        released_by=visit.person.login,
        now=visit.now,
        logged=_entry(visit, ids, "released", detail),
    )
    if not released:
        raise Refused(409, "Already with the AI", "The AI owns this conversation; it was released before.")


def checked_ids(visit: Visit, user_id: str, conversation_id: str) -> ConversationIds:
    """A conversation that the person may take or release; refused (400, 403 or 404) otherwise."""
    if not is_account_name(user_id):
        raise Refused(400, "Which conversation?", "account: expected the name of an account.")
    if not is_id(conversation_id):
        raise Refused(400, "Which conversation?", "conversation: expected the id of a conversation.")
    visit.require(Right.REVIEW, user_id)
    return ConversationIds(user_id=user_id, conversation_id=conversation_id)


def _ids(visit: Visit) -> ConversationIds:
    return checked_ids(visit, visit.field("account"), visit.field("conversation"))


def _entry(
    visit: Visit, ids: ConversationIds, change: str, more: Mapping[str, object]
) -> access_log.LogEntry:
    detail = {"conversation": ids.conversation_id, "change": change, **more}
    return visit.entry(LoggedAction.CONVERSATION, user_id=ids.user_id, detail=detail)


def _back(visit: Visit) -> Response:
    """To the decision or conversation from which the form was sent, else to the list."""
    if decision := visit.field("decision"):
        return visit.redirect("decision", decision_id=decision)
    if visit.field("back") == "conversation":
        ids = _ids(visit)
        return visit.redirect("conversation", account=ids.user_id, conversation_ref=ids.conversation_id)
    return visit.redirect("conversations")
