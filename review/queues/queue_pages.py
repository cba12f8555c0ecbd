"""Queues: listing, opening and closing them, and taking the next item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.connection import Connection
from db.reviews import claims, queue_loads, queues, rulings
from db.reviews.queue_loads import QueueLoad
from db.reviews.queues import Drawn, NewQueue, Queue, QueueKind, Sample, Stratum
from db.reviews.rulings import ReviewRejected
from review.access import Right
from review.decision.review_form import parse_code
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.languages.reader import midnight
from review.queues import queue_filler, review_pages
from review.queues.queue_loads import load_open_queues
from review.typed.numbers import typed_number

CLOSED_ALREADY: Final = Refused(409, "Already closed", "Another person has already closed this queue.")
KINDS: Final = {
    QueueKind.ESCALATIONS: mark("every decision handed to a person"),
    QueueKind.SAMPLE: mark("a random sample"),
    QueueKind.SECOND: mark("blind second readings"),
    QueueKind.HAND: mark("added by hand"),
    QueueKind.OBJECTIONS: mark("replies that a customer calls wrong, and texts that moderation flagged late"),
}
DRAWN: Final = {
    Drawn.SILENT: mark("decisions without a reply"),
    Drawn.SENT: mark("sent replies"),
    Drawn.ALL: mark("decisions without a reply and sent replies"),
}
STRATA: Final = {
    Stratum.NONE: "",
    Stratum.REASON_CODE: mark("from each reason"),
    Stratum.MATCHED_RULE: mark("from each rule"),
    Stratum.POLICY: mark("from each policy"),
    Stratum.LANGUAGE: mark("from each language"),
    Stratum.CONFIDENCE_BAND: mark("from each band of confidence"),
}
"""The strata of a sample, in words."""
FORM_FIELDS: Final = ("name", "kind", "how", "amount", "per", "seed", "lease", "golden", "second")


async def take_next(visit: Visit) -> Response:
    """Claim the next item of a queue."""
    await queue_filler.fill_open(visit.store, visit.now)
    return await review_pages.redirect_to_next(visit, visit.path_id("queue_id", review_pages.NOT_FOUND))


async def show_end(visit: Visit) -> Response:
    """The end of a queue: what the person did, the undo of their last review, and the next queue."""
    queue_id, person_id = visit.path_id("queue_id", review_pages.NOT_FOUND), visit.person.person_id
    async with visit.store.reading() as connection:
        opened = await load_open_queues(visit, connection)
        queue = next((each for each, _load in opened if each.id == queue_id), None)
        if queue is None:
            return visit.redirect("queues")
        done = await queue_loads.count_done(connection, queue_id, person_id, since=midnight(visit.now))
        undo = await rulings.undoable_review(connection, person_id, visit.now)
    following = next(((each, load) for each, load in opened if load.for_you), None)
    return visit.render(
        "queues/done.html",
        queue=queue,
        done=done,
        undo=undo,
        following=following,
        undone="undone" in visit.request.query_params,
    )


async def create_queue(visit: Visit) -> Response:
    """Open a queue."""
    form = {name: visit.field(name) for name in FORM_FIELDS}
    try:
        new_queue = _parse_queue_form(form)
        async with visit.store.writing() as connection:
            queue_id = await queues.create_queue(
                connection,
                new_queue,
                accounts=visit.accounts(Right.LEAD),
                created_by=visit.person.login,
                now=visit.now,
            )
            detail = {"opened": str(queue_id), "name": new_queue.name}
            await visit.log(LoggedAction.QUEUE, detail=detail, connection=connection)
            opened = await queues.get_queue(connection, queue_id)
    except ReviewRejected as rejected:
        return await list_queues(visit, status=400, problem=str(rejected), form=form)
    if opened is not None:
        await queue_filler.fill(visit.store, opened, visit.now)
    return visit.redirect("queues")


async def confirm_close(visit: Visit) -> Response:
    """Show the consequences of closing a queue."""
    async with visit.store.reading() as connection:
        queue = await _closable(visit, connection)
        loads = {each.id: load for each, load in await load_open_queues(visit, connection)}
    load = loads.get(queue.id, QueueLoad())
    return visit.render("queues/close.html", queue=queue, load=load)


async def close_queue(visit: Visit) -> Response:
    """Close a queue; its items stay stored for the figures."""
    async with visit.store.writing() as connection:
        queue = await _closable(visit, connection)
        if not await queues.close_queue(connection, queue.id, visit.now):
            raise CLOSED_ALREADY
        await visit.log(LoggedAction.QUEUE, detail={"closed": str(queue.id)}, connection=connection)
    return visit.redirect("queues", query=f"closed={queue.id}")


async def restore_skipped(visit: Visit) -> Response:
    """Restore the items that the person skipped."""
    queue_id = visit.path_id("queue_id", review_pages.NOT_FOUND)
    async with visit.store.writing() as connection:
        await claims.restore_skipped(connection, queue_id, visit.person.person_id)
    return visit.redirect("queues")


async def _closable(visit: Visit, connection: Connection) -> Queue:
    """The queue of the path, if this person may close it.

    Raises:
        Refused: it does not exist, is already closed, or this person may not close it.
    """
    queue = await queues.get_queue(connection, visit.path_id("queue_id", review_pages.NOT_FOUND))
    if queue is None or not queue.is_for(visit.accounts(Right.LEAD)):
        raise Refused(404, "Not found", "There is no such queue.")
    if visit.accounts(Right.LEAD) is not None and queue.created_by != visit.person.login:
        raise Refused(403, "Not allowed", "Only its author or a lead of every account may close it.")
    if queue.closed_at is not None:
        raise CLOSED_ALREADY
    return queue


async def _named_closed_queue(visit: Visit, connection: Connection) -> Queue | None:
    """The queue that was just closed, named in the address."""
    queue_id = visit.query_id("closed")
    queue = await queues.get_queue(connection, queue_id) if queue_id else None
    is_known = queue is not None and queue.closed_at and queue.is_for(visit.accounts(Right.LEAD))
    return queue if is_known and visit.may(Right.LEAD) else None


async def list_queues(
    visit: Visit, *, status: int = 200, problem: str = "", form: Mapping[str, str] | None = None
) -> Response:
    """List the open queues of the person's accounts with their loads."""
    async with visit.store.reading() as connection:
        closed = await _named_closed_queue(visit, connection)
        opened = await load_open_queues(visit, connection)
        undo = await rulings.undoable_review(connection, visit.person.person_id, visit.now)
    return visit.render(
        "queues/index.html",
        status=status,
        queues=opened,
        closed=closed,
        undo=undo,
        empty=visit.request.query_params.get("empty", ""),
        problem=problem,
        form=form or {},
        kinds=KINDS,
        strata=STRATA,
        drawn=DRAWN,
        accounts=visit.accounts(Right.REVIEW),
        led_accounts=visit.accounts(Right.LEAD),
    )


def _parse_queue_form(form: Mapping[str, str]) -> NewQueue:
    """The queue to open.

    Raises:
        ReviewRejected: a field is invalid.
    """
    kind = parse_code("kind", form["kind"], tuple(QueueKind))
    return NewQueue(
        name=form["name"],
        kind=kind,
        sample=_sample(form) if kind is QueueKind.SAMPLE else None,
        lease_s=_whole_number(_("claim duration"), form["lease"] or "300"),
        golden_share=_share(_("golden items"), form["golden"] or "0"),
        second_share=_share(_("second readings"), form["second"] or "0"),
    )


def _sample(form: Mapping[str, str]) -> Sample:
    drawn = parse_code("drawn", form.get("drawn") or Drawn.SILENT, tuple(Drawn))
    per = parse_code("per", form["per"], tuple(Stratum))
    seed = _whole_number(_("seed"), form["seed"] or "1")
    if form["how"] == "each":
        return Sample(each=_whole_number(_("amount"), form["amount"]), per=per, seed=seed, drawn=drawn)
    return Sample(share=_share(_("amount"), form["amount"]), per=per, seed=seed, drawn=drawn)


def _whole_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        problem = _("%(field)s: Write a whole number, not %(got)s.")
        raise ReviewRejected(problem % {"field": name, "got": repr(text[:60])})
    return int(text)


def _share(name: str, text: str) -> float:
    try:
        share = typed_number(text.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        problem = _("%(field)s: Write a percentage from 0 to 100, not %(got)s.")
        raise ReviewRejected(problem % {"field": name, "got": repr(text[:60])})
    return share
