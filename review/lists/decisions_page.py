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
from review.access import Right
from review.content_covers import cover_reason
from review.first_run.sample_page import load_samples
from review.http.visit import Refused, Visit
from review.lists.filter_fields import FIELDS
from review.lists.filters import ListQuery
from review.lists.list_layout_page import COLUMN_TITLES, ORDER_TITLES
from review.lists.views_page import load_visible_views
from review.lists.visit_query import parse_url_query
from review.words.reasons import NAMES

ROWS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPage:
    """Which page of the list is wanted."""

    cursor: str | None
    oldest_first: bool


async def list_decisions(visit: Visit) -> Response:
    """A page of decisions; with unusable filters, the form with the problems and the usable filters."""
    query = parse_url_query(visit, other_parameters=("cursor", "live"))
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
    if not live or visit.site.followed.due(visit.person.person_id, query.encoded(), visit.now):
        action = LoggedAction.SEARCH if query.filters.text is not None else LoggedAction.LIST
        detail = {"query": query.encoded(), "rows": len(values["page"].rows), "live": live}
        await visit.log(action, user_id=query.filters.about(), detail=detail)
    may_tick = visit.may(Right.LEAD) and not live
    return visit.render("decisions.html", live=live, may_tick=may_tick, **form, **values)


async def _load_values(visit: Visit, query: ListQuery, cursor: str | None, *, live: bool) -> dict[str, Any]:
    """A page of the list with what its template shows of each decision; ``live`` has the newest first."""
    layout = visit.person.list_layout
    layout = replace(layout, order=ListOrder.NEWEST) if live else layout
    asked = AskedPage(cursor=None if live else cursor, oldest_first=layout.oldest_first)
    async with visit.store.reading() as connection:
        filters = await queue_items.with_hidden_reviews(connection, query.filters, visit.person.person_id)
    try:
        found = await visit.store.read_lists(
            lambda connection: _load_page(connection, filters, asked, covered=bool(visit.person.covered))
        )
    except CursorRejected as error:
        title = "That page cannot be opened"
        raise Refused(400, title, f"{error}\n\nGo back to the list and page from there.") from error
    page, count, scores, replies = found
    async with visit.store.reading() as connection:  # what people have just changed
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
        review_states = await decision_list.load_review_states(connection, page.rows, hidden=hidden)
        views = () if visit.partial else await load_visible_views(visit, connection)
        samples = None if page.rows or visit.partial else await load_samples(visit, connection)
    covers = {
        row["id"]: cover_reason(visit.person.covered, {**row, "hot_categories": scores.get(row["id"])})
        for row in page.rows
    }
    return {
        "page": page,
        "count": count,
        "review_states": review_states,
        "covers": covers,
        "views": views,
        "samples": samples,
        "replies": replies,
        "layout": layout,
    }


async def _load_page(
    connection: Connection, filters: Filters, asked: AskedPage, *, covered: bool
) -> tuple[DecisionPage, DecisionCount, dict[UUID, list[str]], dict[UUID, str]]:
    """A page, the number of all matching decisions, high scores for a person with covers, and replies."""
    load = decision_list.load_oldest_first if asked.oldest_first else decision_list.load_page
    page = await load(connection, filters, limit=ROWS, cursor=asked.cursor)
    if page.newer is None and page.older is None:
        count = DecisionCount(number=len(page.rows), exact=True)
    else:
        count = await decision_list.count_decisions(connection, filters)
    scores = await decision_list.high_scores(connection, page.rows) if covered else {}
    return page, count, scores, await decision_list.load_replies(connection, page.rows)
