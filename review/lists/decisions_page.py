"""The list of decisions: filters in the URL, pages, live view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.audit import decision_list
from db.audit.decision_list import CursorRejected, DecisionCount, DecisionPage
from db.audit.saved_views import SavedView
from db.reviews import queue_items
from review.access import Right
from review.content_covers import cover_reason
from review.http.visit import Refused, Visit
from review.lists import shared_views
from review.lists.filter_fields import FIELDS
from review.lists.filters import ListQuery, ParseContext, parse_query
from review.reason_labels import NAMES

ROWS: Final = 50
NOT_FILTERS: Final = frozenset({"cursor", "live"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ListExtras:
    """What a list shows in addition to its rows."""

    page: DecisionPage
    count: DecisionCount
    standings: Mapping[UUID, str]
    covers: Mapping[UUID, tuple[str, ...]]
    views: tuple[SavedView, ...]


async def list_decisions(visit: Visit) -> Response:
    """A page of decisions."""
    wanted = parse_list_query(visit)
    if wanted.problems:
        return _form_again(visit, wanted)
    parameters = visit.request.query_params
    live = parameters.get("live") == "1"
    shown = await _shown(visit, wanted, None if live else parameters.get("cursor") or None)
    if not live or visit.site.followed.due(visit.person.person_id, wanted.query(), visit.now):
        action = LoggedAction.SEARCH if wanted.filters.text is not None else LoggedAction.LIST
        detail = {"query": wanted.query(), "rows": len(shown.page.rows), "live": live}
        await visit.log(action, user_id=wanted.filters.about(), detail=detail)
    return visit.render(
        "decisions.html",
        shown=shown,
        live=live,
        **_form(visit, wanted),
    )


def parse_list_query(visit: Visit) -> ListQuery:
    """The filters of this request, limited to the accounts that the person may see."""
    pairs = [pair for pair in visit.request.query_params.multi_items() if pair[0] not in NOT_FILTERS]
    return parse_query(
        pairs, ParseContext(now=visit.now, login=visit.person.login), visit.accounts(Right.VIEW)
    )


async def _shown(visit: Visit, wanted: ListQuery, cursor: str | None) -> ListExtras:
    async with visit.store.reading() as connection:
        filters = await queue_items.with_hidden_reviews(connection, wanted.filters, visit.person.person_id)
        try:
            page = await decision_list.load_page(connection, filters, limit=ROWS, cursor=cursor)
        except CursorRejected as error:
            title = "That page cannot be opened"
            raise Refused(400, title, f"{error}\n\nGo back to the list and page from there.") from error
        if page.newer is None and page.older is None:
            count = DecisionCount(number=len(page.rows), exact=True)
        else:
            count = await decision_list.count_decisions(connection, filters)
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
        standings = await decision_list.load_review_states(connection, page.rows, hidden=hidden)
        hot = await decision_list.high_scores(connection, page.rows) if visit.person.covered else {}
        kept = () if visit.partial else await shared_views.visible_views(visit, connection)
    covers = {
        row["id"]: cover_reason(visit.person.covered, {**row, "hot_categories": hot.get(row["id"])})
        for row in page.rows
    }
    return ListExtras(page=page, count=count, standings=standings, covers=covers, views=kept)


def _form_again(visit: Visit, wanted: ListQuery) -> Response:
    """The form with its problems; the valid filters stay."""
    return visit.render("decisions_form_again.html", status=400, **_form(visit, wanted))


def _form(visit: Visit, wanted: ListQuery) -> dict[str, Any]:
    return {
        "asked": wanted,
        "fields": FIELDS,
        "reasons": NAMES,
        "may_export": visit.may(Right.EXPORT),
        "OLDEST": decision_list.OLDEST,
    }
