"""Messages that people must answer, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import orjson
from starlette.responses import Response

from db.access_log import LoggedAction
from db.escalations.listing import EscalationFilters, EscalationState, list_escalations
from db.reviews import queue_items
from review.access import Right
from review.api.decisions import read_place
from review.http.parameters import ACCOUNT, Parameter
from review.http.visit import Visit
from review.typed.kinds import one_of

ALL: Final = "all"
FILTERS: Final = (
    ACCOUNT,
    Parameter(
        name="state", text="State", kind=one_of(*EscalationState, ALL), default=EscalationState.OPEN.value
    ),
    Parameter(name="queue", text="One queue; empty for escalations without one"),
    Parameter(name="reason", text="One reason code"),
    Parameter(name="conversation", text="One conversation"),
)


async def list_open(visit: Visit) -> Response:
    """``{"escalations": [...], "next": cursor}``, oldest first; parameters are ``FILTERS``, cursor and limit.

    A closed escalation of a decision that the person reads blind is left out: its end may be a ruling.
    """
    query = visit.query
    place = read_place(visit, Right.VIEW)
    filters = EscalationFilters(
        accounts=place.accounts,
        state=None if query["state"] == ALL else EscalationState(query["state"]),
        queue=query["queue"],
        reason_code=query["reason"],
        conversation_id=query["conversation"],
    )
    found = await list_escalations(visit.store.pool, filters, limit=place.limit, after=place.after)
    async with visit.store.reading() as connection:
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    shown = [each for each in found if each.closed_at is None or each.decision_id not in hidden]
    detail = {"escalations": len(shown), "api": True}
    await visit.log(LoggedAction.LIST, user_id=place.account, detail=detail)
    body: dict[str, Any] = {
        "escalations": [asdict(each) | {"state": each.state.value} for each in shown],
        "next": found[-1].decision_id if len(found) == place.limit else None,
    }
    return Response(orjson.dumps(body, option=orjson.OPT_UTC_Z), media_type="application/json")
