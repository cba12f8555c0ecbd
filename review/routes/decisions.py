"""Routes of decisions: the list, one decision, views, exports and other jobs."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.decision import page
from review.http.visit import PageRoute
from review.lists import decisions_page, jobs_page, views_page

DECISIONS: Final = (
    # one decision
    PageRoute(path="/decisions/{decision_id}", name="decision", handler=page.show_decision, right=Right.VIEW),
    PageRoute(
        path="/decisions/{decision_id}/reveal",
        name="decision_reveal",
        handler=page.reveal_texts,
        right=Right.VIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/decisions/{decision_id}/similar",
        name="decision_similar",
        handler=page.show_similar,
        right=Right.VIEW,
    ),
    # the list of decisions, views, exports
    PageRoute(path="/decisions", name="decisions", handler=decisions_page.list_decisions, right=Right.VIEW),
    PageRoute(path="/views", name="views", handler=views_page.list_views, right=Right.VIEW),
    PageRoute(
        path="/views", name="view_keep", handler=views_page.save_view, right=Right.VIEW, methods=("POST",)
    ),
    PageRoute(
        path="/views/{view_id}",
        name="view",
        handler=views_page.change_view,
        right=Right.VIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/views/{view_id}/delete",
        name="view_delete",
        handler=views_page.delete_view,
        right=Right.VIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/exports", name="export", handler=jobs_page.start_export, right=Right.EXPORT, methods=("POST",)
    ),
    PageRoute(path="/jobs", name="jobs", handler=jobs_page.list_jobs, right=Right.VIEW),
    PageRoute(path="/jobs/{job_id}", name="job", handler=jobs_page.show_job, right=Right.VIEW),
    PageRoute(
        path="/jobs/{job_id}/cancel",
        name="job_cancel",
        handler=jobs_page.cancel_job,
        right=Right.VIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/jobs/{job_id}/file", name="job_file", handler=jobs_page.download_export, right=Right.EXPORT
    ),
)
