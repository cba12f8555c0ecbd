"""Routes of the JSON API, with their descriptions in the OpenAPI document."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from db.access_log import LoggedAction
from db.figures.agreement import Basis
from db.people.api_tokens import TokenScope
from review.access import Right
from review.accounts import limits_page
from review.agreement.tables import SORTS
from review.api import (
    answer_shapes,
    answers,
    conversations,
    decisions,
    figures,
    openapi,
    shapes,
)
from review.figures import ranges
from review.http.page_routes import PageRoute
from review.http.parameters import ACCOUNT, LIMIT, Parameter, cursor
from review.lists.filter_fields import FIELDS
from review.typed.kinds import (
    DECISIONS_CURSOR,
    LOG_CURSOR,
    MOMENT,
    TIME_OR_DAY,
    WAITING_CURSOR,
    LoginText,
    one_of,
)
from worker.model import Scope

DECISION_FILTERS: Final = (
    *(Parameter(name=each.name, text=each.about, kind=each.kind, several=each.several) for each in FIELDS),
    LIMIT,
)
LOG_FILTERS: Final = (
    Parameter(name="person", text="Login of a person", kind=LoginText),
    Parameter(name="action", text="One action", kind=one_of(*LoggedAction)),
    Parameter(name="account", text="One account", kind=LoginText),
    Parameter(name="decision", text="One decision", kind=UUID),
    Parameter(name="since", text="From this time on; a week before the end unless given", kind=TIME_OR_DAY),
    Parameter(name="until", text="Before this time", kind=TIME_OR_DAY),
    cursor(LOG_CURSOR),
)


def _figure_filters(default_range: str) -> tuple[Parameter, ...]:
    return (
        Parameter(name="range", text=f"As on the page; default {default_range}", kind=one_of(*ranges.TITLES)),
        Parameter(name="since", text="Instead of a range: from this time", kind=MOMENT),
        Parameter(name="until", text="With since: until this time", kind=MOMENT),
        ACCOUNT,
    )


FIGURE_FILTERS: Final = (
    *_figure_filters(ranges.DEFAULT),
    Parameter(name="scope", text="Chats or comments", kind=one_of(*Scope)),
    Parameter(name="against", text="What `before` is", kind=one_of(*ranges.AGAINST)),
)
AGREEMENT_FILTERS: Final = (
    *_figure_filters(ranges.MONTH),
    Parameter(name="basis", text="Which reviews count", kind=one_of(*Basis)),
    Parameter(name="sort", text="Order of the tables", kind=one_of(*SORTS)),
)
SUGGESTION_FILTERS: Final = _figure_filters(ranges.MONTH)

API: Final = (
    PageRoute(
        path="/api/v1/suggestions",
        name="api_suggestions",
        handler=figures.list_suggestions,
        right=Right.VIEW,
        api=True,
        summary="Topics of questions that the documents do not cover",
        query=SUGGESTION_FILTERS,
        response=shapes.SuggestionsBody,
    ),
    PageRoute(
        path="/api/v1/decisions",
        name="api_decisions",
        handler=decisions.list_decisions,
        right=Right.VIEW,
        api=True,
        summary="Decisions, newest first",
        query=(*DECISION_FILTERS, cursor(DECISIONS_CURSOR)),
        response=shapes.Decisions,
    ),
    PageRoute(
        path="/api/v1/decisions/{decision_id}",
        name="api_decision",
        handler=decisions.get_decision,
        right=Right.VIEW,
        api=True,
        summary="One decision with its snapshot",
        response=shapes.WholeDecision,
    ),
    PageRoute(
        path="/api/v1/escalations",
        name="api_escalations",
        handler=answers.list_open,
        right=Right.VIEW,
        api=True,
        summary="Messages that people must answer, oldest first",
        query=(*answers.FILTERS, cursor(UUID), LIMIT),
        response=shapes.Escalations,
    ),
    PageRoute(
        path="/api/v1/conversations",
        name="api_conversations",
        handler=conversations.list_conversations,
        right=Right.VIEW,
        api=True,
        summary="Conversations that people own, latest takeover first",
        query=(ACCOUNT, LIMIT),
        response=shapes.OwnedConversations,
    ),
    PageRoute(
        path="/api/v1/accounts/{account:path}/conversations/{conversation:path}",
        name="api_conversation",
        handler=conversations.show_owner,
        right=Right.VIEW,
        api=True,
        summary="Who may answer in one conversation",
        response=shapes.ConversationOwner,
    ),
    PageRoute(
        path="/api/v1/accounts/{account:path}/limits",
        name="api_limits",
        handler=figures.list_limits,
        right=Right.VIEW,
        api=True,
        summary="What is used and left of an account's limits and budgets",
        response=limits_page.AccountLimitsBody,
    ),
    PageRoute(
        path="/api/v1/confidence",
        name="api_confidence",
        handler=decisions.list_confidence,
        right=Right.VIEW,
        api=True,
        summary="Confidence of replies by conversation",
        query=DECISION_FILTERS,
        response=shapes.ConversationConfidences,
    ),
    PageRoute(
        path="/api/v1/access-log",
        name="api_access_log",
        handler=figures.list_entries,
        right=Right.AUDIT,
        api=True,
        summary="Lines of the access log, newest first",
        query=LOG_FILTERS,
        response=shapes.AccessLog,
    ),
    openapi.ROUTE,
    PageRoute(
        path="/api/v1/figures",
        name="api_figures",
        handler=figures.show_figures,
        right=Right.VIEW,
        api=True,
        summary="The figures of the dashboard",
        query=FIGURE_FILTERS,
        response=shapes.FiguresBody,
    ),
    PageRoute(
        path="/api/v1/agreement",
        name="api_agreement",
        handler=figures.show_agreement,
        right=Right.LEAD,
        api=True,
        summary="Agreement of people with decisions and with each other",
        query=AGREEMENT_FILTERS,
        response=shapes.AgreementBody,
    ),
)


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
