"""What may be done with one item, and with one decision's place in queues."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from starlette.responses import Response

from db import access_log, claims, exchanges, golden, items, people, queues
from db.access_log import Action
from db.claims import ClaimLost
from db.jobs import Transaction
from db.queues import Kind, Queue
from db.reviews import GIVEN, DecisionGone, ReviewRejected, Ruling
from review.access import Right
from review.pages import reviewing
from review.reviewing.drafts import who
from review.web import Refused, Visit
from worker.model import Verdict

NOT_YOURS: Final = "Its time was over and somebody else took it, or it is done. Take the next one."


async def skip(visit: Visit) -> Response:
    """Leave an item to others and go on; nobody counts it."""
    return await reviewing.go_on(visit, await _let_go(visit, claims.skip))


async def release(visit: Visit) -> Response:
    """Give an item back."""
    await _let_go(visit, claims.release)
    return visit.redirect("queues")


async def renew(visit: Visit) -> Response:
    """Hold an item for another lease."""
    try:
        async with visit.store.writing() as connection:
            item_id = await _item(visit, connection)
            until = await claims.renew(connection, item_id, visit.person.person_id, visit.now)
    except ClaimLost as lost:
        raise Refused(409, "No longer yours", NOT_YOURS) from lost
    if visit.request.headers.get("Accept") == "text/plain":
        return Response(until.isoformat(), media_type="text/plain")
    try:
        return reviewing.to_decision(visit, UUID(str(visit.form.get("decision", ""))), "held")
    except ValueError:
        return visit.redirect("queues")


async def pick(visit: Visit) -> Response:
    """Put a decision into a queue by hand, for anybody or for one person."""
    decision_id = reviewing.identifier(visit, "decision_id")
    login = str(visit.form.get("login", "")).strip()
    async with visit.store.writing() as connection:
        subject = await exchanges.subject(connection, decision_id)
        if subject is None:
            raise Refused(404, "Not found", "There is no such decision, or you may not see it.")
        visit.require(Right.LEAD, subject.user_id)
        reader = await people.by_login(connection, login) if login else None
        if login and reader is None:
            raise Refused(400, "Nobody by that login", "login: expected somebody's, or nothing for anybody.")
        queue = await _hand_queue(visit, subject.user_id)
        await queues.pick(
            connection,
            queue.id,
            {decision_id: subject.created_at},
            accounts=visit.accounts(Right.LEAD),
            assigned_to=reader.person.person_id if reader else None,
            now=visit.now,
        )
        detail = {"queue": queue.name, "for": login}
        entry = visit.entry(Action.QUEUE, user_id=subject.user_id, decision_id=decision_id, detail=detail)
        await access_log.add(connection, entry)
    return reviewing.to_decision(visit, decision_id, "leads")


async def mark(visit: Visit) -> Response:
    """Give a decision a known answer, or forget it."""
    decision_id = reviewing.identifier(visit, "decision_id")
    async with visit.store.writing() as connection:
        subject = await exchanges.subject(connection, decision_id)
        if subject is None:
            raise Refused(404, "Not found", "There is no such decision, or you may not see it.")
        visit.require(Right.LEAD, subject.user_id)
        act = str(visit.form.get("act", ""))
        try:
            if act == "unmark":
                await golden.unmark(connection, decision_id)
            else:
                await golden.mark(
                    connection,
                    decision_id,
                    verdict=_ruling(str(visit.form.get("verdict", ""))),
                    corrected=_corrected(str(visit.form.get("corrected", ""))),
                    note=str(visit.form.get("note", "")),
                    by=who(visit),
                )
        except DecisionGone as gone:
            raise Refused(410, "The decision is gone", str(gone)) from gone
        except ReviewRejected as rejected:
            raise Refused(400, "Not a known answer", str(rejected)) from rejected
        entry = visit.entry(
            Action.QUEUE,
            user_id=subject.user_id,
            decision_id=decision_id,
            detail={"known answer": "forgotten" if act == "unmark" else "given"},
        )
        await access_log.add(connection, entry)
    return reviewing.to_decision(visit, decision_id, "leads")


async def _hand_queue(visit: Visit, user_id: str) -> Queue:
    try:
        queue_id = UUID(str(visit.form.get("queue", "")))
    except ValueError as error:
        raise Refused(400, "No such queue", "queue: expected one of the list.") from error
    async with visit.store.reading() as connection:
        found = await queues.one(connection, queue_id)
    if found is None or found.closed_at or found.kind is not Kind.HAND or not found.is_for((user_id,)):
        raise Refused(
            409, "No such queue", "It was closed, or does not take picked decisions of this account."
        )
    return found


async def _let_go(visit: Visit, let_go: Callable[..., Awaitable[UUID]]) -> UUID:
    try:
        async with visit.store.writing() as connection:
            return await let_go(connection, await _item(visit, connection), visit.person.person_id)
    except ClaimLost as lost:
        raise Refused(409, "No longer yours", NOT_YOURS) from lost


async def _item(visit: Visit, connection: Transaction) -> int:
    """The item that the person holds on the decision of the path.

    Addresses name decisions, as an item's number tells its kind: a golden one is made when it is dealt.

    Raises:
        ClaimLost: they hold none.
    """
    decision_id = reviewing.identifier(visit, "item_id")
    held = await items.locked(connection, decision_id, visit.person.person_id)
    if held is None:
        raise ClaimLost("item: expected one that you hold, got one that is done or somebody else's by now")
    return held.item_id


def _ruling(text: str) -> Ruling:
    if text not in GIVEN:
        raise ReviewRejected(f"answer: expected {', '.join(GIVEN)}, got {text[:60]!r}")
    return Ruling(text)


def _corrected(text: str) -> Verdict | None:
    if text and text not in list(Verdict):
        raise ReviewRejected(f"corrected decision: expected {', '.join(Verdict)}, got {text[:60]!r}")
    return Verdict(text) if text else None
