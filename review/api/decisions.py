"""Decisions as JSON, with the lists, filters and rights of the pages, and their reviews."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from starlette.datastructures import FormData
from starlette.responses import Response

from db.access_log import LoggedAction
from db.answers.state import UNANSWERED
from db.audit import decision_context, decision_list
from db.audit.conversation_confidence import conversation_confidence
from db.audit.cursor import CursorRejected
from db.customer_feedback.reading import feedback_verdict
from db.reviews import exchanges, queue_items
from db.reviews.list_marks import ListMarks, load_list_marks
from db.reviews.remedies import RemedyImpossible
from db.reviews.rulings import DecisionGone, ReviewRejected
from db.reviews.submission import StaleReview
from db.reviews.visible_decision import load_visible_decision
from review.access import Right
from review.api.body import json_answer, read_body, rejected
from review.api.change_shapes import NewReview
from review.decision.review_form import parse_review_form, submission_of
from review.http.field_problems import FieldProblem
from review.http.visit import Refused, Visit
from review.lists.filters import ListQuery
from review.lists.visit_query import parse_url_query
from review.queues.review_pages import store_submission, withdraw


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPlace:
    """One page of a list: ``limit`` rows after the row ``after``.

    Attributes:
        account: the chosen account, if any.
        accounts: all accounts of the list; None: every account.
    """

    limit: int
    after: UUID | None
    account: str | None
    accounts: tuple[str, ...] | None


async def list_decisions(visit: Visit) -> Response:
    """``{"decisions": [...], "newer": cursor, "older": cursor, "searched_to": time}``.

    Parameters are the page's filters, ``cursor`` and ``limit``.
    """
    query = _usable_query(visit, "cursor", "limit")
    limit, cursor = visit.query["limit"], visit.query["cursor"]
    async with visit.store.reading() as connection:
        filters = await queue_items.with_hidden_reviews(connection, query.filters, visit.person.person_id)
    try:
        page = await visit.store.read_lists(
            lambda replica: decision_list.load_page(replica, filters, limit=limit, cursor=cursor)
        )
    except CursorRejected as error:
        raise Refused(422, "The cursor cannot be used", str(error)) from error
    async with visit.store.autocommit() as connection:  # what people have just changed
        marks = await load_list_marks(connection, page.rows, visit.person.person_id)
    action = LoggedAction.SEARCH if query.filters.text is not None else LoggedAction.LIST
    detail = {"query": query.encoded(), "rows": len(page.rows), "api": True}
    await visit.log(action, user_id=query.filters.about(), detail=detail)
    rows = [
        _row_dict(
            {
                **row,
                "review": marks.states.get(row["id"], "open"),
                **_answer_fields(marks, row["id"]),
                "feedback": marks.feedback.get(row["id"]),
            }
        )
        for row in page.rows
    ]
    body = {"decisions": rows, "newer": page.newer, "older": page.older, "searched_to": page.searched_to}
    return json_answer(body)


async def list_confidence(visit: Visit) -> Response:
    """Confidence by conversation, latest first, by the filters of the list and ``limit``."""
    query = _usable_query(visit, "limit")
    async with visit.store.reading() as connection:
        filters = await queue_items.with_hidden_reviews(connection, query.filters, visit.person.person_id)
    rows = await visit.store.read_lists(
        lambda replica: conversation_confidence(replica, filters, limit=visit.query["limit"])
    )
    detail = {"confidence": query.encoded(), "rows": len(rows), "api": True}
    await visit.log(LoggedAction.FIGURES, user_id=query.filters.about(), detail=detail)
    return json_answer({"conversations": [{"confidence_log": None} | _row_dict(row) for row in rows]})


def _usable_query(visit: Visit, *other_parameters: str) -> ListQuery:
    """The filters of the URL.

    Raises:
        Refused: 422, they do not fit together.
    """
    query = parse_url_query(visit, other_parameters=other_parameters)
    if query.problems:
        problems = [
            FieldProblem(field=each.field, expected=each.expected, got=each.got) for each in query.problems
        ]
        raise Refused(422, "A filter cannot be used", "; ".join(map(str, problems)), problems=problems)
    return query


async def get_decision(visit: Visit) -> Response:
    """A decision with its snapshot, its reply and its review state."""
    not_found = Refused(404, "Not found", "There is no such decision, or you may not see it.")
    decision_id = visit.path_id("decision_id", not_found)
    async with visit.store.autocommit() as connection:
        decision = await load_visible_decision(connection, decision_id, visit.person.person_id)
        if decision is None or not visit.may(Right.VIEW, decision.row["user_id"]):
            raise not_found
        await visit.log(
            LoggedAction.READ,
            user_id=decision.row["user_id"],
            decision_id=decision_id,
            detail={"api": True},
            connection=connection,
        )
        said = await feedback_verdict(connection, decision_id)
    people = {"review": decision.review_state, "feedback": said}
    return json_answer(decision_context.program_columns(decision.row) | people)


def _answer_fields(marks: ListMarks, decision_id: UUID) -> Mapping[str, Any]:
    found = marks.answers.get(decision_id)
    return asdict(found) if found else UNANSWERED


def _row_dict(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in row.items()}  # SQLAlchemy's names are a subclass of str


def read_place(visit: Visit, right: Right) -> ListPlace:
    """The page of a list that the parameters account, cursor and limit ask for.

    Raises:
        Refused: 403 or 404, the right is missing on the chosen account.
    """
    account = visit.query["account"] or None
    if account:
        visit.require(right, account)
    accounts = (account,) if account else visit.accounts(right)
    after = visit.query.get("cursor")
    return ListPlace(limit=visit.query["limit"], after=after, account=account, accounts=accounts)


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
    return json_answer(body_of_answer, status=201)


async def undo_review(visit: Visit) -> Response:
    """Withdraw a review within its undo window."""
    review_id = visit.path_id("review_id", NO_REVIEW)
    async with visit.store.writing() as connection:
        review, _ = await withdraw(visit, connection, review_id, api=True)
    return json_answer({"review_id": review.id, "decision_id": review.decision_id})


async def _require_reviewable(visit: Visit, decision_id: UUID) -> None:
    """Refuse (403 or 404) before the body says anything of the decision."""
    async with visit.store.reading() as connection:
        subject = await exchanges.load_subject(connection, decision_id)
    if subject is None:
        raise NO_DECISION
    visit.require(Right.REVIEW, subject.user_id)
