"""The start page, the counts beside the menu, the health check and CSP reports."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import structlog
from starlette.responses import PlainTextResponse, Response

from db import jobs
from db.access_log import LoggedAction
from db.answers import waiting
from db.collaboration import assignments
from db.connection import round_of_reads
from db.figures import dashboard
from db.reviews import queue_items, queue_loads
from review.access import Right
from review.auth.notices import load_notices
from review.dashboard.dashboard_page import figure_filter, range_log_detail
from review.dashboard.dashboard_view import compare_figures
from review.dashboard.tiles import decision_tiles
from review.figures import ranges
from review.first_run.checklist import load_checklist
from review.first_run.sample_page import load_samples
from review.http.visit import Visit
from review.lists.views_page import load_visible_views
from review.owner.home_page import owned_account
from review.queues.queue_loads import load_open_queues
from worker.cancellation import cancel_all

log = structlog.get_logger(__name__)

MAX_FIGURES: Final = 7
"""Number of the dashboard's decision tiles shown."""
MAX_JOBS: Final = 5


async def show_home(visit: Visit) -> Response:
    """The start page: first steps, waiting items, own jobs and the figures of the last 24 hours."""
    if (owned := owned_account(visit.person)) is not None:
        return visit.redirect("owner_home", account=owned)
    chosen = ranges.parse_range({}, visit.now)
    totals = asyncio.create_task(
        visit.store.read_lists(
            lambda replica: dashboard.load_totals(replica, figure_filter(visit, chosen), now=visit.now)
        )
    )
    own = asyncio.create_task(_load_own(visit))
    try:
        await asyncio.gather(totals, own)
    finally:
        await cancel_all((totals, own))
    found = totals.result()
    compared = compare_figures(found)
    await visit.log(LoggedAction.FIGURES, detail=range_log_detail(chosen))
    return visit.render(
        "home.html",
        tiles=decision_tiles(compared)[:MAX_FIGURES],
        compared=compared.before is not None,
        missing=found.missing,
        link=lambda tile: tile.link(chosen, {}),
        **own.result(),
    )


async def _load_own(visit: Visit) -> dict[str, Any]:
    """What the page shows of the person, in one round of reads."""
    person_id = visit.person.person_id
    async with visit.store.reading() as connection, round_of_reads(connection) as reads:
        own = {
            "jobs": reads.read(jobs.list_jobs(connection, person_id, limit=MAX_JOBS)),
            "views": reads.read(load_visible_views(visit, connection)),
            "notices": reads.read(load_notices(visit, connection)),
            "steps": reads.read(load_checklist(visit, connection)),
            "samples": reads.read(load_samples(visit, connection)),
        }
        if visit.may(Right.REVIEW):
            accounts, now = visit.accounts(Right.REVIEW), visit.now
            own |= {
                "assigned": reads.read(assignments.count_own(connection, person_id, accounts)),
                "queues": reads.read(load_open_queues(visit, connection)),
                "held": reads.read(
                    queue_items.items_held_by(connection, person_id, accounts=accounts, now=now)
                ),
            }
    return {"assigned": 0} | {name: read.result() for name, read in own.items()}


async def show_health(_: Visit) -> Response:
    """The health check: the server answers; it does not check Postgres."""
    return PlainTextResponse("ok\n")


async def csp_report(visit: Visit) -> Response:
    """Counts a browser's report of a CSP violation: a defect of a page, or an attack."""
    if reports := visit.site.csp_reports.count_report(visit.now):
        log.warning("csp_violation", reports=reports)
    return Response(status_code=204)


COUNTED: Final = 100
"""What waits is counted up to this number, not read as a whole; ``shell/counts.html`` shows a plus."""


async def show_counts(visit: Visit) -> Response:
    """Messages that wait for an answer, and items of queues."""
    accounts = visit.accounts(Right.REVIEW)
    async with visit.store.reading() as connection:
        to_answer = await waiting.count_waiting(connection, accounts, now=visit.now, most=COUNTED)
        to_review = await queue_loads.count_for_person(
            connection, person_id=visit.person.person_id, accounts=accounts, now=visit.now, most=COUNTED
        )
    counts = {"/escalations": to_answer, "/queues": to_review}
    return visit.render("shell/counts.html", counts=counts, counted=COUNTED)
