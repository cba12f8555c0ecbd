"""The addresses of the JSON face, with what its OpenAPI document tells of them."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.api import access_log, decisions, figures, openapi, shapes
from review.lists import filters, log_filters
from review.web import Page, Parameter

CURSOR: Final = Parameter(name="cursor", text="From an earlier page: where this one goes on")
DECISION_FILTERS: Final = (
    *(
        Parameter(name=each.name, text=f"{each.title}: {each.about}" if each.about else each.title)
        for each in filters.FIELDS
    ),
    CURSOR,
    Parameter(name="limit", text="1 to 500, 50 unless given"),
)
LOG_FILTERS: Final = (*(Parameter(name=each, text=each.title()) for each in log_filters.FIELDS), CURSOR)
RANGE: Final = Parameter(name="range", text="24h, 7d, 30d and so on, as on the page; 24h unless given")
FIGURE_FILTERS: Final = (
    RANGE,
    Parameter(name="since", text="Instead of a range: from this time"),
    Parameter(name="until", text="and up to this one"),
    Parameter(name="account", text="One account"),
    Parameter(name="scope", text="chat or comment"),
)
BASIS: Final = Parameter(name="basis", text="Which reviews count, as on the page")

API: Final = (
    Page(
        path="/api/v1/decisions",
        name="api_decisions",
        handler=decisions.listed,
        right=Right.VIEW,
        api=True,
        summary="Decisions, newest first",
        query=DECISION_FILTERS,
        response=shapes.Decisions,
    ),
    Page(
        path="/api/v1/decisions/{decision_id}",
        name="api_decision",
        handler=decisions.one,
        right=Right.VIEW,
        api=True,
        summary="One decision with its trace",
        response=shapes.WholeDecision,
    ),
    Page(
        path="/api/v1/access-log",
        name="api_access_log",
        handler=access_log.listed,
        right=Right.AUDIT,
        api=True,
        summary="Lines of the access log, newest first",
        query=LOG_FILTERS,
        response=shapes.AccessLog,
    ),
    Page(
        path="/api/v1/openapi.json",
        name="openapi",
        handler=openapi.shown,
        right=Right.SIGNED_IN,
        api=True,
        summary="This document",
        response=shapes.Document,
    ),
    Page(
        path="/api/v1/figures",
        name="api_figures",
        handler=figures.figures,
        right=Right.VIEW,
        api=True,
        summary="The figures of the dashboard",
        query=FIGURE_FILTERS,
        response=shapes.FiguresBody,
    ),
    Page(
        path="/api/v1/agreement",
        name="api_agreement",
        handler=figures.agreement,
        right=Right.LEAD,
        api=True,
        summary="Agreement of people with decisions and with each other",
        query=(*(each for each in FIGURE_FILTERS if each.name != "scope"), BASIS),
        response=shapes.AgreementBody,
    ),
)
