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
from review.api.decisions import parse_place
from review.http.visit import Refused, Visit

ALL: Final = "all"
FIELDS: Final = {
    "account": "One account",
    "state": f"{', '.join(EscalationState)} or {ALL}; default {EscalationState.OPEN}",
    "queue": "One queue; empty for escalations without one",
    "reason": "One reason code",
    "conversation": "One conversation",
}


async def list_open(visit: Visit) -> Response:
    """``{"escalations": [...], "next": cursor}``, oldest first; parameters are ``FIELDS``, cursor and limit.

    A closed escalation of a decision that the person reads blind is left out: its end may be a ruling.
    """
    parameters = visit.request.query_params
    place = parse_place(visit, Right.VIEW)
    filters = EscalationFilters(
        accounts=place.accounts,
        state=_state(parameters.get("state", EscalationState.OPEN)),
        queue=parameters.get("queue"),
        reason_code=parameters.get("reason"),
        conversation_id=parameters.get("conversation"),
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


def _state(text: str) -> EscalationState | None:
    if text == ALL:
        return None
    if text not in frozenset(EscalationState):
        raise Refused(400, "A filter cannot be used", f"state: expected {FIELDS['state']}, got {text[:20]!r}")
    return EscalationState(text)
