"""Submitting and undoing reviews, collisions of two reviewers, and the next item of a queue."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from db.access_log import LoggedAction
from db.connection import Connection
from db.reviews import claims, exchanges, queue_items, queues, rulings, withdrawal
from db.reviews.remedies import RemedyImpossible, UndoTooLate
from db.reviews.rulings import DecisionGone, Remedy, Review, ReviewRejected
from db.reviews.submission import StaleReview, StoredReview, Submission
from db.reviews.submission import submit_review as store_review
from review.access import Right
from review.decision import page
from review.decision.list_position import following_decision, list_query
from review.decision.review_form import (
    ReviewFields,
    last_seen_of,
    parse_review_form,
    require_explanation,
    reviewer_of,
    submission_of,
)
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark

NOT_FOUND: Final = Refused(404, "Not found", "There is nothing at this address.")
GONE: Final = mark("It was erased, or never existed. Nothing was stored. Your note was:")


async def submit_review(visit: Visit) -> Response:
    """Store a review, then show the next item of its queue or of the list, or the decision."""
    decision_id, fields = visit.path_id("decision_id", NOT_FOUND), parse_review_form(visit)
    try:
        require_explanation(fields)
        submission = submission_of(visit, decision_id, fields)
        stored = await store_submission(visit, submission)
    except StaleReview as stale:
        return await _show_collision(visit, fields, stale)
    except DecisionGone as gone:
        raise Refused(410, "The decision is gone", f"{_(GONE)}\n\n{fields.note}") from gone
    except RemedyImpossible as impossible:
        fields = replace(fields, remedy=Remedy.NONE)
        return await page.show_rejected_review(visit, fields, status=409, problem=str(impossible))
    except ReviewRejected as rejected:
        return await page.show_rejected_review(visit, fields, status=400, problem=str(rejected))
    if stored.item is not None and stored.known is None:
        return await _after_item(visit, decision_id, stored.item.queue_id)
    place = "answer" if visit.field("then") == "answer" else "review"
    is_next = stored.known is None and place == "review"
    if is_next and (following := await following_decision(visit, decision_id)) is not None:
        return redirect_to_decision(visit, following, "main")
    return redirect_to_decision(visit, decision_id, place)


async def _after_item(visit: Visit, decision_id: UUID, queue_id: UUID) -> Response:
    """The next item, or first the answer to the message of the current item."""
    if visit.field("then") == "answer":
        return visit.redirect("escalation", f"queue={queue_id}", decision_id=decision_id)
    return await redirect_to_next(visit, queue_id, ruled_on=decision_id)


async def undo_review(visit: Visit) -> Response:
    """Withdraw a review; the person stays in its queue."""
    review_id = visit.path_id("review_id", NOT_FOUND)
    async with visit.store.writing() as connection:
        review, _ = await withdraw(visit, connection, review_id)
        queue_id = await _left_queue(visit, connection, review)
    if queue_id is not None:
        return await redirect_to_next(visit, queue_id, ruled_on=review.decision_id, undone=True)
    return redirect_to_decision(visit, review.decision_id, "review")


async def withdraw(
    visit: Visit, connection: Connection, review_id: UUID, **detail: object
) -> tuple[Review, Review]:
    """Withdraw a review, with its line of the access log; the review and its withdrawal.

    Raises:
        Refused: 404, unknown or of an account that the person may not see; 403; 409, it stays.
    """
    review = await rulings.get_review(connection, review_id)
    if review is None or not visit.may(Right.VIEW, review.user_id):
        raise Refused(404, "Not found", "There is no such review, or you may not see it.")
    visit.require(Right.REVIEW, review.user_id)
    try:
        withdrawn = await withdrawal.withdraw_review(connection, review_id, reviewer_of(visit), visit.now)
    except UndoTooLate as late:
        raise Refused(409, "Too late to undo", str(late)) from late
    except ReviewRejected as rejected:
        raise Refused(409, "Cannot be undone", str(rejected)) from rejected
    await visit.log(
        LoggedAction.UNDO,
        user_id=review.user_id,
        decision_id=review.decision_id,
        detail={"review": str(review_id), "effect": withdrawn.effect} | detail,
        connection=connection,
    )
    return review, withdrawn


async def _left_queue(visit: Visit, connection: Connection, review: Review) -> UUID | None:
    """The queue of a withdrawn review, if its item is now another reviewer's."""
    held = await queue_items.held_item(connection, review.decision_id, visit.person.person_id)
    return None if held or review.item_id is None else await queue_items.queue_of(connection, review.item_id)


async def redirect_to_next(
    visit: Visit, queue_id: UUID, *, ruled_on: UUID | None = None, undone: bool = False
) -> Response:
    """Redirect to the next item of a queue.

    When nothing waits, redirect to the end of the queue after ``ruled_on``, the decision just reviewed or
    undone, or to the queues when it is None. ``undone``: its review was withdrawn; the next page shows that.
    """
    async with visit.store.writing() as connection:
        queue = await queues.get_queue(connection, queue_id)
        accounts = visit.accounts(Right.REVIEW)
        if queue is None or queue.closed_at is not None or not queue.is_for(accounts):
            return visit.redirect("queues")
        claim = await claims.claim_next(
            connection,
            queue,
            reviewer_of(visit),
            accounts=accounts,
            draw=random.random(),  # noqa: S311  # the choice of an item needs no secrecy
            now=visit.now,
        )
        if claim is None and ruled_on is not None:
            return visit.redirect("queue_done", "undone=1" if undone else "", queue_id=queue_id)
        if claim is None:
            return visit.redirect("queues", f"empty={queue_id}")
        await visit.log(
            LoggedAction.CLAIM, user_id=claim.user_id, decision_id=claim.decision_id, connection=connection
        )
    query = urlencode({"item": str(claim.decision_id)} | ({"undone": str(ruled_on)} if undone else {}))
    return RedirectResponse(f"/decisions/{claim.decision_id}?{query}", status_code=303)


def redirect_to_decision(visit: Visit, decision_id: UUID, place: str) -> Response:
    """Redirect to a place of a decision's page, in the list that the person came from."""
    came_from = list_query(visit)
    query = "" if came_from is None else "?" + urlencode({"from": came_from})
    return RedirectResponse(f"/decisions/{decision_id}{query}#{place}", status_code=303)


async def store_submission(visit: Visit, submission: Submission, **detail: object) -> StoredReview:
    """Store a review with its line of the access log.

    Raises:
        DecisionGone: there is no such decision.
        ReviewRejected: a field is invalid, or another person reviewed meanwhile.
        Refused: 403 or 404, the person may not review it.
    """
    async with visit.store.writing() as connection:
        subject = await exchanges.load_subject(connection, submission.decision_id)
        if subject is None:
            text = _("No decision is stored with the id %(got)s.")
            raise DecisionGone(text % {"got": submission.decision_id})
        visit.require(Right.REVIEW, subject.user_id)
        stored = await store_review(connection, submission, visit.now)
        review = stored.review
        await visit.log(
            LoggedAction.REVIEW,
            user_id=subject.user_id,
            decision_id=subject.id,
            detail={"ruling": review.ruling, "effect": review.effect, "source": review.source} | detail,
            connection=connection,
        )
    return stored


async def _show_collision(visit: Visit, fields: ReviewFields, stale: StaleReview) -> Response:
    """Show both reviews; the person's own stays in the form and can be stored in addition."""
    try:
        values = await page.load_page(visit, LoggedAction.READ)
    except Refused as gone:
        raise Refused(410, "The decision is gone", f"{_(GONE)}\n\n{fields.note}") from gone
    seen = last_seen_of(visit)
    known = [each.id for each in stale.reviews]
    newer = stale.reviews[known.index(seen) + 1 :] if seen in known else stale.reviews
    values["panel"] = replace(values["panel"], fields=fields)
    return visit.render("decision/collision.html", status=409, **values, newer_reviews=newer)
