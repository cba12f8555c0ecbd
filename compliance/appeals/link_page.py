"""The page behind a signed link: the author reads about one decision, appeals, and reads the outcome.

It shows the author's own message, the own appeal and the outcome, and nothing else of the account.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from starlette.responses import Response

from compliance.appeals import intake, records
from compliance.appeals.entering import appeal_secret, take
from compliance.appeals.intake import AppealableDecision
from compliance.appeals.links import linked_decision
from compliance.appeals.records import TEXT_CHARS, Appeal, AppealRefused, AppealSource, RefusalCode
from compliance.words import FOR_AUTHORS, refusal_text
from db.connection import Connection
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark, ngettext
from worker.rates import RateLimit

INVALID: Final = Refused(
    410,
    mark("This link does not work"),
    mark("It is incomplete, has expired, or the decision was deleted. Ask who sent it for another one."),
)
LINK_VISITS: Final = RateLimit(per_minute=30, burst=30)
"""Requests with signed links, by address and by decision."""
STATUS: Final = {RefusalCode.UNUSABLE_TEXT: 422, RefusalCode.ALREADY_APPEALED: 409}


async def show_link(visit: Visit) -> Response:
    """What was decided about the author's message, and the form of the appeal."""
    decision_id = _linked(visit)
    async with visit.store.reading() as connection:
        return _page(visit, *await _load(connection, decision_id))


async def appeal_by_link(visit: Visit) -> Response:
    """Store the appeal, then show it."""
    decision_id, text = _linked(visit), visit.field("text")
    try:
        await take(visit, decision_id, AppealSource.LINK, text)
    except AppealRefused as refused:
        if refused.code is RefusalCode.UNKNOWN_DECISION:
            raise INVALID from refused
        status, problem = STATUS.get(refused.code, 409), refusal_text(refused.code)
        async with visit.store.reading() as connection:
            decision, appeal = await _load(connection, decision_id)
        return _page(visit, decision, appeal, status=status, problem=problem, text=text)
    return visit.redirect("appeal_link", link=visit.request.path_params["link"])


def _linked(visit: Visit) -> UUID:
    """The decision that the link names.

    Raises:
        Refused: 410, the link is not ours or has expired; 429, too many requests.
    """
    token, secret = visit.request.path_params["link"], appeal_secret(visit)
    decision_id = linked_decision(secret, token, visit.now) if secret else None
    keys = [visit.network, *([] if decision_id is None else [str(decision_id)])]
    if wait_s := max(visit.wait_s(LINK_VISITS, key) for key in keys):
        text = ngettext(
            "Too many requests. Wait %(seconds)s second.",
            "Too many requests. Wait %(seconds)s seconds.",
            wait_s,
        ) % {"seconds": wait_s}
        raise Refused(429, _("Too many at once"), text, retry_after_s=wait_s)
    if decision_id is None:
        raise INVALID
    return decision_id


async def _load(connection: Connection, decision_id: UUID) -> tuple[AppealableDecision, Appeal | None]:
    try:
        decision = await intake.appealable_decision(connection, decision_id)
    except AppealRefused as refused:
        raise INVALID from refused
    return decision, await records.appeal_of_decision(connection, decision_id)


def _page(
    visit: Visit,
    decision: AppealableDecision,
    appeal: Appeal | None,
    *,
    status: int = 200,
    problem: str = "",
    text: str = "",
) -> Response:
    refusal = None if appeal else decision.refusal(visit.now)
    settled = appeal is not None and appeal.settled_at is not None
    return visit.render(
        "appeals/link.html",
        status=status,
        link=visit.request.path_params["link"],
        decision=decision,
        appeal=appeal,
        closed=refusal_text(refusal.code) if refusal else "",
        outcome=_(FOR_AUTHORS[appeal.outcome]) if appeal and appeal.outcome and settled else "",
        problem=problem,
        text=text,
        most=TEXT_CHARS,
    )
