"""Where people land, and what machines ask."""

from __future__ import annotations

from typing import Any, Final

import structlog
from starlette.responses import PlainTextResponse, Response

from db import dashboard, items, jobs
from db.access_log import Action
from review import shared_views
from review.access import Right
from review.figures import figure_links, ranges
from review.figures.dashboard_view import compared_of
from review.figures.tiles import decided
from review.pages.dashboard import logged, question_of
from review.reviewing.waiting import open_queues
from review.web import Visit

log = structlog.get_logger(__name__)

MOST_FIGURES: Final = 6
"""Of the dashboard's first ones: what was decided."""
MOST_JOBS: Final = 5


async def home(visit: Visit) -> Response:
    """Where people land: what waits, what they began, what happened in the last 24 hours."""
    chosen = ranges.range_of({}, visit.now)
    question = question_of(visit, chosen, account=None, scope=None)
    waits = await _waits(visit) if visit.may(Right.REVIEW) else {}
    async with visit.store.reading() as connection:
        found = await dashboard.totals(connection, question, now=visit.now)
        own: dict[str, Any] = {
            "jobs": await jobs.of_person(connection, visit.person.person_id, limit=MOST_JOBS),
            "views": await shared_views.seen_by(visit, connection),
        }
    compared = compared_of(found)
    await visit.log(Action.FIGURES, detail=logged(chosen))
    return visit.render(
        "home.html",
        tiles=decided(compared)[:MOST_FIGURES],
        compared=compared.before is not None,
        missing=found.missing,
        link=lambda tile: None if tile.filters is None else figure_links.of_range(chosen, **tile.filters),
        **own,
        **waits,
    )


async def _waits(visit: Visit) -> dict[str, Any]:
    """What is in the queues for this person, and what they hold."""
    accounts, person_id = visit.accounts(Right.REVIEW), visit.person.person_id
    async with visit.store.reading() as connection:
        return {
            "queues": await open_queues(visit, connection),
            "held": await items.held_by(connection, person_id, accounts=accounts, now=visit.now),
        }


async def health(_: Visit) -> Response:
    """That the server answers; says nothing about Postgres and nothing to strangers."""
    return PlainTextResponse("ok\n")


async def csp_report(visit: Visit) -> Response:
    """A browser says that a page broke the content security policy: a defect of ours, or an attack."""
    if reports := visit.site.csp_reports.came(visit.now):
        log.warning("csp_violation", reports=reports)
    return Response(status_code=204)
