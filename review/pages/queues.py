"""Queues: what waits, who holds it, opening and closing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from starlette.responses import Response

from db import access_log, claims, filling, queues
from db.access_log import Action
from db.decision_page import Connection
from db.queues import Kind, Load, Queue, Stratum
from db.reviews import ReviewRejected
from review.access import Right
from review.pages import reviewing
from review.reviewing import queue_form
from review.web import Refused, Visit

KINDS: Final = {
    Kind.ESCALATIONS: "every decision handed to a person",
    Kind.SAMPLE: "a sample of what was ignored in silence",
    Kind.SECOND: "blind second readings",
    Kind.HAND: "picked by hand",
}
STRATA: Final = {
    Stratum.NONE: "",
    Stratum.REASON_CODE: "from each reason",
    Stratum.MATCHED_RULE: "from each rule",
}
"""What a sample is spread over, in words."""


async def index(visit: Visit) -> Response:
    """Open queues for accounts that the person reviews, filled up, with how much waits for them."""
    await _fill(visit)
    return await _index(visit)


async def take(visit: Visit) -> Response:
    """Claim what comes next in a queue."""
    await _fill(visit)
    return await reviewing.go_on(visit, reviewing.identifier(visit, "queue_id"))


async def create(visit: Visit) -> Response:
    """Open a queue."""
    form = {name: str(visit.form.get(name, "")) for name in queue_form.FIELDS}
    try:
        wanted = queue_form.read(form)
        async with visit.store.writing() as connection:
            queue_id = await queues.create(
                connection,
                wanted,
                accounts=visit.accounts(Right.LEAD),
                created_by=visit.person.login,
                now=visit.now,
            )
            detail = {"opened": str(queue_id), "name": wanted.name}
            await access_log.add(connection, visit.entry(Action.QUEUE, detail=detail))
    except ReviewRejected as rejected:
        return await _index(visit, status=400, problem=str(rejected), form=form)
    return visit.redirect("queues")


async def ask_to_close(visit: Visit) -> Response:
    """What closing a queue means, before it is done."""
    async with visit.store.reading() as connection:
        queue = await _closable(visit, connection)
        loads = await queues.loads(
            connection,
            person_id=visit.person.person_id,
            accounts=visit.accounts(Right.REVIEW),
            now=visit.now,
        )
    return visit.render("queues/close.html", queue=queue, load=loads.get(queue.id, Load()))


async def close(visit: Visit) -> Response:
    """Close a queue; its items stay for the figures."""
    async with visit.store.writing() as connection:
        queue = await _closable(visit, connection)
        if not await queues.close(connection, queue.id, visit.now):
            raise _closed_already()
        await access_log.add(connection, visit.entry(Action.QUEUE, detail={"closed": str(queue.id)}))
    return visit.redirect("queues", query=f"closed={queue.id}")


async def unskip(visit: Visit) -> Response:
    """Have back what one skipped."""
    queue_id = reviewing.identifier(visit, "queue_id")
    async with visit.store.writing() as connection:
        await claims.unskip(connection, queue_id, visit.person.person_id)
    return visit.redirect("queues")


async def _closable(visit: Visit, connection: Connection) -> Queue:
    """The queue of the path, when this person may close it.

    Raises:
        Refused: it is not there, not theirs to close, or closed already.
    """
    queue = await queues.one(connection, reviewing.identifier(visit, "queue_id"))
    if queue is None or not queue.is_for(visit.accounts(Right.LEAD)):
        raise Refused(404, "Not found", "There is no such queue.")
    if visit.accounts(Right.LEAD) is not None and queue.created_by != visit.person.login:
        raise Refused(403, "Not allowed", "Others work in it: only a lead of every account may close it.")
    if queue.closed_at is not None:
        raise _closed_already()
    return queue


def _closed_already() -> Refused:
    return Refused(409, "Closed already", "Somebody closed this queue before you.")


async def _fill(visit: Visit) -> None:
    async with visit.store.reading() as connection:
        made = await queues.all_open(connection)
    for queue in made:
        async with visit.store.writing() as connection:
            await filling.fill(connection, queue, visit.now)


async def _just_closed(visit: Visit, connection: Connection) -> Queue | None:
    """The queue that the person has closed just now, as the address says."""
    try:
        queue = await queues.one(connection, UUID(visit.request.query_params.get("closed", "")))
    except ValueError:
        return None
    known = queue is not None and queue.closed_at and queue.is_for(visit.accounts(Right.LEAD))
    return queue if known and visit.may(Right.LEAD) else None


async def _index(
    visit: Visit, *, status: int = 200, problem: str = "", form: Mapping[str, str] | None = None
) -> Response:
    accounts = visit.accounts(Right.REVIEW)
    async with visit.store.reading() as connection:
        made = await queues.all_open(connection)
        closed = await _just_closed(visit, connection)
        loads = await queues.loads(
            connection, person_id=visit.person.person_id, accounts=accounts, now=visit.now
        )
    shown = [(queue, loads.get(queue.id, Load())) for queue in made if queue.is_for(accounts)]
    return visit.render(
        "queues/index.html",
        status=status,
        shown=shown,
        closed=closed,
        empty=visit.request.query_params.get("empty", ""),
        problem=problem,
        form=form or {},
        kinds=KINDS,
        strata=STRATA,
        accounts=accounts,
        mine=visit.accounts(Right.LEAD),
    )
