"""Saying what one thinks of a decision: the panel, its form, what happens when two collide, and undo."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from db import access_log, claims, exchanges, queues, reviewing, reviews
from db.access_log import Action
from db.remedies import RemedyImpossible, UndoTooLate
from db.reviewing import Stale, Stored, Submission
from db.reviews import DecisionGone, Remedy, ReviewRejected
from review.access import Right
from review.pages import decision
from review.reviewing.drafts import Draft, draft_of, seen_by, submission, who
from review.story.walking import came_from
from review.web import Refused, Visit

GONE: Final = (
    "It was erased, or was never there. Nothing was stored. This is what you typed, in case you need it:\n\n"
)


async def submit(visit: Visit) -> Response:
    """Store a review; on to the next item where it came from a queue."""
    decision_id, draft = _decision_id(visit), draft_of(visit)
    try:
        given = submission(visit, decision_id, draft)
        stored = await _store(visit, given)
    except Stale as stale:
        return await _collided(visit, draft, stale)
    except DecisionGone as gone:
        raise Refused(410, "The decision is gone", GONE + draft.note) from gone
    except RemedyImpossible as impossible:
        kept = replace(draft, remedy=Remedy.NONE)
        return await decision.again(visit, kept, status=409, problem=str(impossible))
    except ReviewRejected as rejected:
        return await decision.again(visit, draft, status=400, problem=str(rejected))
    if stored.item is not None and stored.known is None:
        return await go_on(visit, stored.item.queue_id)
    return to_decision(visit, decision_id, "review")


async def undo(visit: Visit) -> Response:
    """Take a review back."""
    review_id = identifier(visit, "review_id")
    async with visit.store.writing() as connection:
        given = await reviews.one(connection, review_id)
        if given is None or not visit.may(Right.VIEW, given.user_id):
            raise Refused(404, "Not found", "There is no such review, or you may not see it.")
        visit.require(Right.REVIEW, given.user_id)
        try:
            back = await reviewing.withdraw(connection, review_id, who(visit), visit.now)
        except UndoTooLate as late:
            raise Refused(409, "Too late to undo", str(late)) from late
        except ReviewRejected as rejected:
            raise Refused(409, "Cannot be undone", str(rejected)) from rejected
        entry = visit.entry(
            Action.UNDO,
            user_id=given.user_id,
            decision_id=given.decision_id,
            detail={"review": str(review_id), "effect": back.effect},
        )
        await access_log.add(connection, entry)
    return to_decision(visit, given.decision_id, "review")


async def go_on(visit: Visit, queue_id: UUID) -> Response:
    """On to what the person shall read next in a queue, or back to the queues."""
    async with visit.store.writing() as connection:
        queue = await queues.one(connection, queue_id)
        accounts = visit.accounts(Right.REVIEW)
        if queue is None or queue.closed_at is not None or not queue.is_for(accounts):
            return visit.redirect("queues")
        claim = await claims.claim(
            connection,
            queue,
            who(visit),
            accounts=accounts,
            draw=random.random(),  # noqa: S311  # which item comes next is no secret that money hangs on
            now=visit.now,
        )
        if claim is None:
            return visit.redirect("queues", f"empty={queue_id}")
        entry = visit.entry(Action.QUEUE, user_id=claim.user_id, decision_id=claim.decision_id)
        await access_log.add(connection, entry)
    return RedirectResponse(f"/decisions/{claim.decision_id}?item={claim.decision_id}", status_code=303)


def to_decision(visit: Visit, decision_id: UUID, place: str) -> Response:
    """On to a place of a decision's page, in the list that the person came from."""
    given = came_from(visit)
    query = "" if given is None else "?" + urlencode({"from": given})
    return RedirectResponse(f"/decisions/{decision_id}{query}#{place}", status_code=303)


def identifier(visit: Visit, name: str) -> UUID:
    """A UUID of the path.

    Raises:
        Refused: it is none.
    """
    try:
        return UUID(visit.request.path_params[name])
    except ValueError as error:
        raise Refused(404, "Not found", "There is nothing at this address.") from error


def _decision_id(visit: Visit) -> UUID:
    return identifier(visit, "decision_id")


async def _store(visit: Visit, given: Submission) -> Stored:
    async with visit.store.writing() as connection:
        subject = await exchanges.subject(connection, given.decision_id)
        if subject is None:
            raise DecisionGone(f"decision: expected the id of a stored one, got {given.decision_id}")
        visit.require(Right.REVIEW, subject.user_id)
        stored = await reviewing.submit(connection, given, visit.now)
        entry = visit.entry(
            Action.REVIEW,
            user_id=subject.user_id,
            decision_id=subject.id,
            detail={"verdict": given.ruling, "effect": stored.review.effect, "source": stored.review.source},
        )
        await access_log.add(connection, entry)
    return stored


async def _collided(visit: Visit, draft: Draft, stale: Stale) -> Response:
    """Both versions side by side; the person's own is kept and can be stored beside the other."""
    try:
        values = await decision.told(visit, Action.READ)
    except Refused as gone:
        raise Refused(410, "The decision is gone", GONE + draft.note) from gone
    seen = seen_by(visit)
    known = [each.id for each in stale.reviews]
    news = stale.reviews[known.index(seen) + 1 :] if seen in known else stale.reviews
    values["panel"] = replace(values["panel"], draft=draft)
    return visit.render("decision/collision.html", status=409, **values, news=news)
