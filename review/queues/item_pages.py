"""Actions on a queue item: skip, release, renew, add to a queue, set a known answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.connection import Connection
from db.people import records
from db.reviews import claims, exchanges, golden_answers, queue_items, queues
from db.reviews.claims import ClaimLost
from db.reviews.exchanges import ReviewSubject
from db.reviews.queues import Queue, QueueKind
from db.reviews.rulings import RULINGS, DecisionGone, ReviewRejected
from review.access import Right, may
from review.decision.review_form import parse_code, parse_optional_code, parse_review_form, reviewer_of
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.queues import review_pages
from worker.model import DecisionKind

CLAIM_LOST: Final = mark(
    "Your time was over and another reviewer claimed it, or it is done. Take the next one."
)


async def skip_item(visit: Visit) -> Response:
    """Skip an item and show the next; skips are not counted."""
    return await review_pages.redirect_to_next(visit, await _end_claim(visit, claims.skip_item))


async def release_item(visit: Visit) -> Response:
    """Release an item."""
    await _end_claim(visit, claims.release_item)
    return visit.redirect("queues")


async def renew_item(visit: Visit) -> Response:
    """Hold an item for another lease."""
    try:
        async with visit.store.writing() as connection:
            item_id = await _held_item_id(visit, connection)
            until = await claims.renew_claim(connection, item_id, visit.person.person_id, visit.now)
    except ClaimLost as lost:
        raise Refused(409, "No longer yours", CLAIM_LOST) from lost
    if visit.request.headers.get("Accept") == "text/plain":
        return Response(until.isoformat(), media_type="text/plain")
    if (decision_id := visit.field_id("decision")) is None:
        return visit.redirect("queues")
    return review_pages.redirect_to_decision(visit, decision_id, "held")


async def add_to_queue(visit: Visit) -> Response:
    """Add a decision to a queue, for everyone or for one person."""
    login = visit.field("login").strip()
    async with visit.store.writing() as connection:
        subject = await _led_subject(visit, connection)
        assignee = await records.get_credentials(connection, login) if login else None
        if login and (assignee is None or not may(assignee.person, Right.REVIEW, subject.user_id)):
            raise Refused(
                400, "Login", "Write the login of a reviewer of this account, or leave the field empty."
            )
        queue = await _hand_queue(visit, connection, subject.user_id)
        await queues.add_decisions(
            connection,
            queue.id,
            {subject.id: subject.created_at},
            accounts=visit.accounts(Right.LEAD),
            assigned_to=assignee.person.person_id if assignee else None,
            now=visit.now,
        )
        detail = {"queue": queue.name, "for": login}
        await visit.log(
            LoggedAction.QUEUE,
            user_id=subject.user_id,
            decision_id=subject.id,
            detail=detail,
            connection=connection,
        )
    return review_pages.redirect_to_decision(visit, subject.id, "leads")


async def set_golden_answer(visit: Visit) -> Response:
    """Set a decision's known answer, or delete it."""
    forget = visit.form.get("act") == "unmark"
    async with visit.store.writing() as connection:
        subject = await _led_subject(visit, connection)
        try:
            if forget:
                await golden_answers.forget_known_answer(connection, subject.id)
            else:
                fields = parse_review_form(visit)
                await golden_answers.set_known_answer(
                    connection,
                    subject.id,
                    ruling=parse_code("answer", fields.ruling, RULINGS),
                    corrected=parse_optional_code(
                        "corrected decision", fields.corrected, tuple(DecisionKind)
                    ),
                    note=fields.note,
                    by=reviewer_of(visit),
                )
        except DecisionGone as gone:
            raise Refused(410, "The decision is gone", str(gone)) from gone
        except ReviewRejected as rejected:
            raise Refused(400, "Invalid known answer", str(rejected)) from rejected
        await visit.log(
            LoggedAction.KNOWN_ANSWER,
            user_id=subject.user_id,
            decision_id=subject.id,
            detail={"known answer": "forgotten" if forget else "given"},
            connection=connection,
        )
    return review_pages.redirect_to_decision(visit, subject.id, "leads")


async def _led_subject(visit: Visit, connection: Connection) -> ReviewSubject:
    """The decision of the path.

    Raises:
        Refused: 404 or 403, it does not exist, or the person may not see it or does not lead its account.
    """
    decision_id = visit.path_id("decision_id", review_pages.NOT_FOUND)
    subject = await exchanges.load_subject(connection, decision_id)
    if subject is None:
        raise Refused(404, "Not found", "There is no such decision, or you may not see it.")
    visit.require(Right.LEAD, subject.user_id)
    return subject


async def _hand_queue(visit: Visit, connection: Connection, user_id: str) -> Queue:
    if (queue_id := visit.field_id("queue")) is None:
        raise Refused(400, "No such queue", "Choose a queue of the list.")
    found = await queues.get_queue(connection, queue_id)
    if found is None or found.closed_at or found.kind is not QueueKind.HAND or not found.is_for((user_id,)):
        raise Refused(
            409, "No such queue", "It is closed, or does not take decisions of this account by hand."
        )
    return found


async def _end_claim(visit: Visit, end_claim: Callable[..., Awaitable[UUID]]) -> UUID:
    try:
        async with visit.store.writing() as connection:
            return await end_claim(connection, await _held_item_id(visit, connection), visit.person.person_id)
    except ClaimLost as lost:
        raise Refused(409, "No longer yours", CLAIM_LOST) from lost


async def _held_item_id(visit: Visit, connection: Connection) -> int:
    """The item that the person holds on the decision of the path.

    Addresses name decisions, because item numbers would disclose golden items, which are made when dealt.

    Raises:
        ClaimLost: the person holds none.
    """
    decision_id = visit.path_id("item_id", review_pages.NOT_FOUND)
    held = await queue_items.locked_item(connection, decision_id, visit.person.person_id)
    if held is None:
        raise ClaimLost(_("You no longer hold this item: it is done, or another person holds it."))
    return held.item_id
