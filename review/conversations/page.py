"""The list of conversations that people own, and the two actions on a conversation."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from db import access_log, accounts, conversation_owners
from db.access_log import LoggedAction
from db.conversation_owners import ConversationIds, OwnerCause, Takeover
from review.access import Right
from review.http.visit import Refused, Visit
from worker.contract import idle_end
from worker.payload import ID_CHARS, is_account_name

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
    ids = _ids(visit)
    if not await conversation_owners.is_known(visit.store.pool, ids):
        raise Refused(404, "Unknown conversation", "No event of this conversation is stored.")
    settings = await accounts.current_account(visit.store.pool, ids.user_id)
    takeover = Takeover(
        user_id=ids.user_id,
        conversation_id=ids.conversation_id,
        people_until=idle_end(settings, visit.now),
        changed_by=visit.person.login,
        cause=OwnerCause.COMMAND,
    )
    await conversation_owners.take_conversation(
        visit.store.pool, takeover, visit.now, logged=_entry(visit, ids, "taken")
    )
    return _back(visit)


async def release(visit: Visit) -> Response:
    """Give a conversation back to the AI."""
    ids = _ids(visit)
    released = await conversation_owners.release_conversation(
        visit.store.pool,
        ids,
        released_by=visit.person.login,
        now=visit.now,
        logged=_entry(visit, ids, "released"),
    )
    if not released:
        raise Refused(409, "Already with the AI", "The AI owns this conversation; it was released before.")
    return _back(visit)


def _ids(visit: Visit) -> ConversationIds:
    ids = ConversationIds(user_id=visit.field("account"), conversation_id=visit.field("conversation"))
    if not is_account_name(ids.user_id):
        raise Refused(400, "Which conversation?", "account: expected the name of an account.")
    if not 0 < len(ids.conversation_id) <= ID_CHARS or "\x00" in ids.conversation_id:
        raise Refused(400, "Which conversation?", "conversation: expected the id of a conversation.")
    visit.require(Right.REVIEW, ids.user_id)
    return ids


def _entry(visit: Visit, ids: ConversationIds, change: str) -> access_log.LogEntry:
    detail = {"conversation": ids.conversation_id, "change": change}
    return visit.entry(LoggedAction.CONVERSATION, user_id=ids.user_id, detail=detail)


def _back(visit: Visit) -> Response:
    """To the decision from which the form was sent, else to the list."""
    if decision := visit.field("decision"):
        return visit.redirect("decision", decision_id=decision)
    return visit.redirect("conversations")
