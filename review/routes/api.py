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
from review.http.page_routes import api_get, api_post
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
    api_get(
        "/suggestions", "api_suggestions", figures.list_suggestions, Right.VIEW, shapes.SuggestionsBody,
        "Topics of questions that the documents do not cover", query=SUGGESTION_FILTERS,
    ),
    api_get(
        "/decisions", "api_decisions", decisions.list_decisions, Right.VIEW, shapes.Decisions,
        "Decisions, newest first", query=(*DECISION_FILTERS, cursor(DECISIONS_CURSOR)),
    ),
    api_get(
        "/decisions/{decision_id}", "api_decision", decisions.get_decision, Right.VIEW,
        shapes.WholeDecision, "One decision with its snapshot",
    ),
    api_get(
        "/escalations", "api_escalations", answers.list_open, Right.VIEW, shapes.Escalations,
        "Messages that people must answer, oldest first", query=(*answers.FILTERS, cursor(UUID), LIMIT),
    ),
    api_get(
        "/conversations", "api_conversations", conversations.list_conversations, Right.VIEW,
        shapes.OwnedConversations, "Conversations that people own, latest takeover first",
        query=(ACCOUNT, LIMIT),
    ),
    api_get(
        "/accounts/{account:path}/conversations/{conversation:path}", "api_conversation",
        conversations.show_owner, Right.VIEW, shapes.ConversationOwner,
        "Who may answer in one conversation",
    ),
    api_get(
        "/accounts/{account:path}/limits", "api_limits", figures.list_limits, Right.VIEW,
        limits_page.AccountLimitsBody, "What is used and left of an account's limits and budgets",
    ),
    api_get(
        "/confidence", "api_confidence", decisions.list_confidence, Right.VIEW,
        shapes.ConversationConfidences, "Confidence of replies by conversation", query=DECISION_FILTERS,
    ),
    api_get(
        "/access-log", "api_access_log", figures.list_entries, Right.AUDIT, shapes.AccessLog,
        "Lines of the access log, newest first", query=LOG_FILTERS,
    ),
    openapi.ROUTE,
    api_get(
        "/figures", "api_figures", figures.show_figures, Right.VIEW, shapes.FiguresBody,
        "The figures of the dashboard", query=FIGURE_FILTERS,
    ),
    api_get(
        "/agreement", "api_agreement", figures.show_agreement, Right.LEAD, shapes.AgreementBody,
        "Agreement of people with decisions and with each other", query=AGREEMENT_FILTERS,
    ),
)  # fmt: skip
ANSWERS_API: Final = (
    api_get(
        "/waiting", "api_waiting", answers.list_waiting, Right.REVIEW, answer_shapes.WaitingBody,
        "Decisions that wait for a person's answer, the oldest first",
        query=(ACCOUNT, cursor(WAITING_CURSOR), LIMIT),
    ),
    api_get(
        "/decisions/{decision_id}/drafts", "api_drafts", answers.list_drafts, Right.REVIEW,
        answer_shapes.DraftsBody, "Drafts of a decision that were not sent, and the answers of people",
        token_scope=TokenScope.ANSWER,
    ),
    api_post(
        "/decisions/{decision_id}/answers", "api_answer", answers.add_answer, Right.REVIEW,
        answer_shapes.AnswerStored, "Approve or edit a draft, write an answer, or close without one",
        token_scope=TokenScope.ANSWER, body=answer_shapes.AnswerBody, status=201,
        also={200: "The same request was stored before"},
    ),
)  # fmt: skip
