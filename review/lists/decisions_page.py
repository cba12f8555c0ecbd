"""The list of decisions: filters in the URL, pages, live view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.audit import decision_list
from db.audit.cursor import NEWEST, OLDEST, CursorRejected
from db.audit.decision_list import DecisionCount, DecisionPage
from db.audit.filters import Filters
from db.connection import Connection
from db.people.list_layout import ListOrder
from db.reviews import queue_items
from db.reviews.list_marks import load_list_marks
from review.access import Right
from review.content_covers import cover_reason
from review.first_run.sample_page import load_samples
from review.http.visit import Refused, Visit
from review.languages.choice import ZONE_COOKIE
from review.lists.filter_fields import FIELDS
from review.lists.filters import ListQuery
from review.lists.views_page import COLUMN_TITLES, ORDER_TITLES, visible_views
from review.lists.visit_query import parse_url_query
from review.words.reasons import NAMES

ROWS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPage:
    """Which page of the list is wanted.

    Attributes:
        counted: with the number of all matching decisions, which a browser with scripts loads later.
        scored: with high scores, for a person with covers.
    """

    cursor: str | None
    oldest_first: bool
    counted: bool
    scored: bool


async def list_decisions(visit: Visit) -> Response:
    """A page of decisions; with unusable filters, the form with the problems and the usable filters."""
    query = parse_url_query(visit, other_parameters=("cursor", "live", "whole"))
    form: dict[str, Any] = {
        "list_query": query,
        "fields": FIELDS,
        "reasons": NAMES,
        "NEWEST": NEWEST,
        "may_export": visit.may(Right.EXPORT),
        "OLDEST": OLDEST,
        "column_titles": COLUMN_TITLES,
        "order_titles": ORDER_TITLES,
    }
    if query.problems:
        return visit.render("decisions_form_again.html", status=400, **form)
    parameters = visit.request.query_params
    live = parameters.get("live") == "1"
    values = await _load_values(visit, query, parameters.get("cursor") or None, live=live)
    due = visit.note_reading(query.encoded())
    if due or not live:
        await _log(visit, query, rows=len(values["page"].rows), live=live)
    may_tick = visit.may(Right.LEAD) and not live
    return visit.render("decisions.html", live=live, may_tick=may_tick, **form, **values)


async def show_count(visit: Visit) -> Response:
    """The number of decisions of a list, for browsers with scripts, which load it after the list."""
    query = parse_url_query(visit, other_parameters=())
    if query.problems:
        return Response(status_code=400)  # the list says what is wrong
    filters = await _filters(visit, query)
    count = await visit.store.read_lists(
        lambda connection: decision_list.count_decisions(connection, filters)
    )
    if visit.note_reading(query.encoded()):
        await _log(visit, query, rows=0, live=False)
    return visit.render("_count.html", count=count)


async def _log(visit: Visit, query: ListQuery, *, rows: int, live: bool) -> None:
    action = LoggedAction.SEARCH if query.filters.text is not None else LoggedAction.LIST
    detail = {"query": query.encoded(), "rows": rows, "live": live}
    await visit.log(action, user_id=query.filters.about(), detail=detail)


async def _filters(visit: Visit, query: ListQuery) -> Filters:
    """The filters for this person."""
    if query.filters.review is None and query.filters.answered is None:
        return query.filters  # without a connection
    async with visit.store.autocommit() as connection:
        return await queue_items.with_hidden_reviews(connection, query.filters, visit.person.person_id)


async def _load_values(visit: Visit, query: ListQuery, cursor: str | None, *, live: bool) -> dict[str, Any]:
    """A page of the list with what its template shows of each decision; ``live`` has the newest first."""
    layout = visit.person.list_layout
    layout = replace(layout, order=ListOrder.NEWEST) if live else layout
    asked = AskedPage(
        cursor=None if live else cursor,
        oldest_first=layout.oldest_first,
        counted=live or ZONE_COOKIE not in visit.request.cookies or "whole" in visit.request.query_params,
        scored=bool(visit.person.covered),
    )
    filters = await _filters(visit, query)
    try:
        page, count, scores = await visit.store.read_lists(
            lambda connection: _load_page(connection, filters, asked)
        )
    except CursorRejected as error:
        title = "That page cannot be opened"
        raise Refused(400, title, f"{error}\n\nGo back to the list and page from there.") from error
    async with visit.store.autocommit() as connection:  # what people have just changed
        accounts = visit.accounts(Right.VIEW)
        marks = await load_list_marks(connection, page.rows, visit.person.person_id, views_on=accounts)
        found_nothing = not (page.rows or visit.partial or set(query.values) - {"since", "until"})
        samples = await load_samples(visit, connection) if found_nothing else None
    covers = {
        row["id"]: cover_reason(visit.person.covered, {**row, "high_score_categories": scores.get(row["id"])})
        for row in page.rows
    }
    return {
        "page": page,
        "count": count,
        "review_states": marks.states,
        "covers": covers,
        "views": visible_views(visit, marks.views),
        "samples": samples,
        "replies": marks.replies,
        "answers": marks.answers,
        "feedback": marks.feedback,
        "layout": layout,
    }


async def _load_page(
    connection: Connection, filters: Filters, asked: AskedPage
) -> tuple[DecisionPage, DecisionCount | None, dict[UUID, list[str]]]:
    """A page, the number of all matching decisions, and high scores for a person with covers."""
    page = await decision_list.load_page(
        connection, filters, limit=ROWS, cursor=asked.cursor, oldest_first=asked.oldest_first
    )
    count = None
    if page.newer is None and page.older is None:
        count = DecisionCount(number=len(page.rows), exact=True)
    elif asked.counted:
        count = await decision_list.count_decisions(connection, filters)
    return page, count, await decision_list.high_scores(connection, page.rows) if asked.scored else {}
