"""Routes of the JSON API for held drafts and answers of people."""

from __future__ import annotations

from typing import Final

from db.people.api_tokens import TokenScope
from review.access import Right
from review.api import answer_shapes, answers
from review.http.page_routes import PageRoute
from review.http.parameters import ACCOUNT, LIMIT, cursor
from review.typed.kinds import WAITING_CURSOR

ANSWERS_API: Final = (
    PageRoute(
        path="/api/v1/waiting",
        name="api_waiting",
        handler=answers.list_waiting,
        right=Right.REVIEW,
        api=True,
        summary="Decisions that wait for a person's answer, the oldest first",
        query=(
            ACCOUNT,
            cursor(WAITING_CURSOR),
            LIMIT,
        ),
        response=answer_shapes.WaitingBody,
    ),
    PageRoute(
        path="/api/v1/decisions/{decision_id}/drafts",
        name="api_drafts",
        handler=answers.list_drafts,
        right=Right.REVIEW,
        api=True,
        token_scope=TokenScope.ANSWER,
        summary="Drafts of a decision that were not sent, and the answers of people",
        response=answer_shapes.DraftsBody,
    ),
    PageRoute(
        path="/api/v1/decisions/{decision_id}/answers",
        name="api_answer",
        handler=answers.add_answer,
        right=Right.REVIEW,
        methods=("POST",),
        api=True,
        token_scope=TokenScope.ANSWER,
        summary="Approve or edit a draft, write an answer, or close without one",
        body=answer_shapes.AnswerBody,
        response=answer_shapes.AnswerStored,
        status=201,
        also={200: "The same request was stored before"},
    ),
)
