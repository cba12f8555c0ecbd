"""Who may answer in conversations, as JSON."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from db.access_log import LoggedAction
from db.history import conversation_owners
from db.history.conversation_owners import ConversationIds
from review.access import Right
from review.api.body import json_answer
from review.api.decisions import read_place
from review.conversations.page import checked_ids, give_to_ai, give_to_people
from review.http.visit import Refused, Visit
from worker.model import Owner


async def list_conversations(visit: Visit) -> Response:
    """``{"conversations": [...]}``: those that people own, latest takeover first.

    Parameters are ``account`` and ``limit``.
    """
    place = read_place(visit, Right.VIEW)
    found = await conversation_owners.list_with_people(
        visit.store.pool, place.accounts, now=visit.now, limit=place.limit
    )
    detail = {"conversations": len(found), "api": True}
    await visit.log(LoggedAction.LIST, user_id=place.account, detail=detail)
    return json_answer({"conversations": [each.row(visit.now) for each in found]})


async def take(visit: Visit) -> Response:
    """Give a conversation to people; its owner afterwards."""
    ids = _ids(visit)
    await give_to_people(visit, checked_ids(visit, ids.user_id, ids.conversation_id), api=True)
    return await _owner(visit, ids)


async def release(visit: Visit) -> Response:
    """Give a conversation back to the AI; its owner afterwards."""
    ids = _ids(visit)
    await give_to_ai(visit, checked_ids(visit, ids.user_id, ids.conversation_id), api=True)
    return await _owner(visit, ids)


async def show_owner(visit: Visit) -> Response:
    """Who owns one conversation now."""
    ids = _ids(visit)
    visit.require(Right.VIEW, ids.user_id)
    if not await conversation_owners.is_known(visit.store.pool, ids):
        raise Refused(404, "Not found", "No event of this conversation is stored.")
    detail = {"conversation": ids.conversation_id, "api": True}
    await visit.log(LoggedAction.LIST, user_id=ids.user_id, detail=detail)
    return await _owner(visit, ids)


def _ids(visit: Visit) -> ConversationIds:
    path = visit.request.path_params
    return ConversationIds(user_id=path["account"], conversation_id=path["conversation"])


async def _owner(visit: Visit, ids: ConversationIds) -> Response:
    found = await conversation_owners.load_owner(visit.store.pool, ids)
    return json_answer(found.row(visit.now) if found else _never_owned(ids))


def _never_owned(ids: ConversationIds) -> dict[str, Any]:
    return {
        "user_id": ids.user_id,
        "conversation_id": ids.conversation_id,
        "owner": Owner.AI.value,
        "people_until": None,
        "cause": None,
        "changed_by": None,
        "changed_at": None,
    }
