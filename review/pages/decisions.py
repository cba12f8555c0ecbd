"""The list of decisions: filtered by its URL, page by page, followed live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from db import audit, items
from db.access_log import Action
from db.audit import Count, CursorRejected, Page, Ran, ReviewFilter, Tier
from db.views import View
from review import shared_views
from review.access import Right
from review.care import cover
from review.lists.filters import FIELDS, Asked, Asker, asked
from review.lists.reasons import NAMES
from review.web import Refused, Visit
from worker.model import Scope, Verdict

ROWS: Final = 50
NOT_FILTERS: Final = frozenset({"cursor", "live"})
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "decision": tuple(Verdict),
    "scope": tuple(Scope),
    "tier": tuple(Tier),
    "ran": tuple(Ran),
    "review": tuple(ReviewFilter),
    "degraded": ("yes", "no"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a list shows beside its rows."""

    page: Page
    count: Count
    standings: Mapping[UUID, str]
    covers: Mapping[UUID, tuple[str, ...]]
    views: tuple[View, ...]


async def listed(visit: Visit) -> Response:
    """A page of decisions."""
    wanted = asked_by(visit)
    if wanted.problems:
        return _form_again(visit, wanted)
    parameters = visit.request.query_params
    live = parameters.get("live") == "1"
    shown = await _shown(visit, wanted, None if live else parameters.get("cursor") or None)
    if not live or visit.site.followed.due(visit.person.person_id, wanted.query(), visit.now):
        action = Action.SEARCH if wanted.filters.text is not None else Action.LIST
        detail = {"query": wanted.query(), "rows": len(shown.page.rows), "live": live}
        await visit.log(action, user_id=wanted.filters.about(), detail=detail)
    return visit.render(
        "decisions.html",
        shown=shown,
        live=live,
        **_form(visit, wanted),
    )


def asked_by(visit: Visit) -> Asked:
    """The filters of this request, held to what the person may see."""
    pairs = [pair for pair in visit.request.query_params.multi_items() if pair[0] not in NOT_FILTERS]
    return asked(pairs, Asker(now=visit.now, login=visit.person.login), visit.accounts(Right.VIEW))


async def _shown(visit: Visit, wanted: Asked, cursor: str | None) -> Shown:
    async with visit.store.reading() as connection:
        filters = await audit.unspoilt(connection, wanted.filters, visit.person.person_id)
        try:
            page = await audit.page(connection, filters, limit=ROWS, cursor=cursor)
        except CursorRejected as error:
            title = "That page cannot be opened"
            raise Refused(400, title, f"{error}\n\nGo back to the list and page from there.") from error
        if page.newer is None and page.older is None:
            count = Count(number=len(page.rows), exact=True)
        else:
            count = await audit.counted(connection, filters)
        hidden = await items.hidden(connection, visit.person.person_id)
        standings = await audit.standings(connection, page.rows, hidden=hidden)
        hot = await audit.hot(connection, page.rows) if visit.person.covered else {}
        kept = () if visit.partial else await shared_views.seen_by(visit, connection)
    covers = {
        row["id"]: cover(visit.person.covered, {**row, "hot_categories": hot.get(row["id"])})
        for row in page.rows
    }
    return Shown(page=page, count=count, standings=standings, covers=covers, views=kept)


def _form_again(visit: Visit, wanted: Asked) -> Response:
    """The form with what is wrong with it; the good filters stay."""
    return visit.render("decisions_form_again.html", status=400, **_form(visit, wanted))


def _form(visit: Visit, wanted: Asked) -> dict[str, Any]:
    return {
        "asked": wanted,
        "fields": FIELDS,
        "choices": CHOICES,
        "reasons": NAMES,
        "may_export": visit.may(Right.EXPORT),
        "OLDEST": audit.OLDEST,
    }
