"""Reviews by the JSON API: the same functions, rights and log lines as on the pages."""

from __future__ import annotations

from uuid import UUID

from starlette.datastructures import FormData
from starlette.responses import Response

from db.reviews import exchanges
from db.reviews.remedies import RemedyImpossible
from db.reviews.rulings import DecisionGone, ReviewRejected
from db.reviews.submission import StaleReview
from review.access import Right
from review.api.body import answer, read_body, rejected
from review.api.change_shapes import NewReview
from review.decision.review_form import parse_review_form, submission_of
from review.http.visit import Refused, Visit
from review.queues.review_pages import store_submission, withdraw

NO_DECISION = Refused(404, "Not found", "There is no such decision, or you may not see it.")
NO_REVIEW = Refused(404, "Not found", "There is no such review, or you may not see it.")


async def submit_review(visit: Visit) -> Response:
    """Store a review; 409 names a newer review of another person, or why the remedy is impossible."""
    decision_id = visit.path_id("decision_id", NO_DECISION)
    await _require_reviewable(visit, decision_id)
    body = await read_body(visit, NewReview)
    names = ("ruling", "reason", "note", "corrected", "remedy")
    fields = {name: getattr(body, name) for name in names}
    visit.form = FormData(fields | {"seen": str(body.seen) if body.seen else ""})
    try:
        submission = submission_of(visit, decision_id, parse_review_form(visit))
        stored = await store_submission(visit, submission, api=True)
    except StaleReview as stale:
        newest = stale.reviews[-1]
        text = f"{newest.person} reviewed meanwhile: {newest.ruling}. To add yours, send seen {newest.id}."
        raise Refused(409, "A newer review", text) from stale
    except DecisionGone as gone:
        raise Refused(404, NO_DECISION.title, NO_DECISION.text) from gone
    except RemedyImpossible as impossible:
        raise Refused(409, "Impossible", str(impossible)) from impossible
    except ReviewRejected as error:
        raise rejected(str(error).replace("corrected decision:", "corrected:")) from error
    review = stored.review
    body_of_answer = {
        "review_id": review.id,
        "decision_id": review.decision_id,
        "ruling": review.ruling,
        "effect": review.effect,
        "undo_until": review.undo_until(),
    }
    return answer(body_of_answer, status=201)


async def undo_review(visit: Visit) -> Response:
    """Withdraw a review within its undo window."""
    review_id = visit.path_id("review_id", NO_REVIEW)
    async with visit.store.writing() as connection:
        review, _ = await withdraw(visit, connection, review_id, api=True)
    return answer({"review_id": review.id, "decision_id": review.decision_id})


async def _require_reviewable(visit: Visit, decision_id: UUID) -> None:
    """Refuse (403 or 404) before the body says anything of the decision."""
    async with visit.store.reading() as connection:
        subject = await exchanges.load_subject(connection, decision_id)
    if subject is None:
        raise NO_DECISION
    visit.require(Right.REVIEW, subject.user_id)
