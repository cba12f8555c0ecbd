"""A person's inbox: mentions, and decisions that wait for the person."""

from __future__ import annotations

from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.collaboration import assignments, comments
from review.access import Right
from review.http.visit import Visit
from review.queues.review_pages import redirect_to_decision


async def show_inbox(visit: Visit) -> Response:
    """Mentions and assigned decisions of the accounts that the person may see."""
    person_id, reviewed = visit.person.person_id, visit.accounts(Right.REVIEW)
    async with visit.store.reading() as connection:
        mentions = await comments.list_mentions(connection, person_id, visit.accounts())
        assigned = await assignments.list_own(connection, person_id, reviewed)
        waiting = await assignments.count_own(connection, person_id, reviewed)
    await visit.log(LoggedAction.LIST, detail={"inbox": len(mentions) + len(assigned)})
    return visit.render("collaboration/inbox.html", mentions=mentions, assigned=assigned, waiting=waiting)


async def mark_read(visit: Visit) -> Response:
    """Mark the mentions on the decision of the form, or all, as read. An open page sends the form itself."""
    try:
        decision_id = UUID(visit.field("decision"))
    except ValueError:
        decision_id = None
    async with visit.store.writing() as connection:
        await comments.mark_seen(connection, visit.person.person_id, visit.now, decision_id)
    if visit.partial:
        return Response()
    if decision_id is not None:
        return redirect_to_decision(visit, decision_id, "comments")
    return visit.redirect("inbox")
