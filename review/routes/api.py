"""Routes of the JSON API, with their descriptions in the OpenAPI document."""

from __future__ import annotations

from typing import Final

from db.figures.agreement import Basis
from review.access import Right
from review.access_log import filters as log_filters
from review.accounts import limits_page, suggestions_page
from review.agreement import page as agreement_page
from review.agreement.tables import SORTS
from review.api import (
    access_log,
    conversations,
    decisions,
    escalations,
    figures,
    limits,
    openapi,
    shapes,
    suggestions,
)
from review.figures import ranges
from review.http.page_routes import PageRoute, Parameter
from review.lists.filter_fields import FIELDS
from worker.model import Scope

CURSOR: Final = Parameter(name="cursor", text="From an earlier page: where this page starts")
DECISION_FILTERS: Final = (
    *(Parameter(name=each.name, text=each.description) for each in FIELDS),
    CURSOR,
    Parameter(name="limit", text="1 to 500, default 50"),
)
CONVERSATION_FILTERS: Final = (
    Parameter(name="account", text="One account"),
    Parameter(name="limit", text="1 to 500, default 50"),
)
ESCALATION_FILTERS: Final = (
    *(Parameter(name=name, text=text) for name, text in escalations.FIELDS.items()),
    CURSOR,
    Parameter(name="limit", text="1 to 500, default 50"),
)
LOG_FILTERS: Final = (*(Parameter(name=each, text=each.title()) for each in log_filters.FIELDS), CURSOR)


def _figure_filters(default_range: str) -> tuple[Parameter, ...]:
    names = ", ".join(ranges.TITLES)
    return (
        Parameter(name="range", text=f"One of {names}, as on the page; default {default_range}"),
        Parameter(name="since", text="Instead of a range: from this time"),
        Parameter(name="until", text="With since: until this time"),
        Parameter(name="account", text="One account"),
    )


FIGURE_FILTERS: Final = (
    *_figure_filters(ranges.DEFAULT),
    Parameter(name="scope", text=f"One of {', '.join(Scope)}"),
)
AGREEMENT_FILTERS: Final = (
    *_figure_filters(agreement_page.DEFAULT_RANGE),
    Parameter(name="basis", text=f"Which reviews count: one of {', '.join(Basis)}"),
    Parameter(name="sort", text=f"Order of the tables: one of {', '.join(SORTS)}"),
)
SUGGESTION_FILTERS: Final = _figure_filters(suggestions_page.DEFAULT_RANGE)

API: Final = (
    PageRoute(
        path="/api/v1/suggestions",
        name="api_suggestions",
        handler=suggestions.list_suggestions,
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
        query=DECISION_FILTERS,
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
        handler=escalations.list_open,
        right=Right.VIEW,
        api=True,
        summary="Messages that people must answer, oldest first",
        query=ESCALATION_FILTERS,
        response=shapes.Escalations,
    ),
    PageRoute(
        path="/api/v1/conversations",
        name="api_conversations",
        handler=conversations.list_conversations,
        right=Right.VIEW,
        api=True,
        summary="Conversations that people own, latest takeover first",
        query=CONVERSATION_FILTERS,
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
        handler=limits.list_limits,
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
        query=tuple(each for each in DECISION_FILTERS if each is not CURSOR),
        response=shapes.ConversationConfidences,
    ),
    PageRoute(
        path="/api/v1/access-log",
        name="api_access_log",
        handler=access_log.list_entries,
        right=Right.AUDIT,
        api=True,
        summary="Lines of the access log, newest first",
        query=LOG_FILTERS,
        response=shapes.AccessLog,
    ),
    PageRoute(
        path="/api/v1/openapi.json",
        name="openapi",
        handler=openapi.show_openapi,
        right=Right.SIGNED_IN,
        api=True,
        summary="This document",
        response=shapes.Document,
    ),
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
