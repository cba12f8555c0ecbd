"""The addresses of the audit: the list, one decision, views, exports and other jobs."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.pages import decision, decisions, jobs, views
from review.web import Page

DECISIONS: Final = (
    # one decision
    Page(path="/decisions/{decision_id}", name="decision", handler=decision.page, right=Right.VIEW),
    Page(
        path="/decisions/{decision_id}/reveal",
        name="decision_reveal",
        handler=decision.reveal,
        right=Right.VIEW,
        methods=("POST",),
    ),
    Page(
        path="/decisions/{decision_id}/similar",
        name="decision_similar",
        handler=decision.similar,
        right=Right.VIEW,
    ),
    # the list of decisions, views, exports
    Page(path="/decisions", name="decisions", handler=decisions.listed, right=Right.VIEW),
    Page(path="/views", name="views", handler=views.listed, right=Right.VIEW),
    Page(path="/views", name="view_keep", handler=views.keep, right=Right.VIEW, methods=("POST",)),
    Page(path="/views/{view_id}", name="view", handler=views.change, right=Right.VIEW, methods=("POST",)),
    Page(
        path="/views/{view_id}/delete",
        name="view_delete",
        handler=views.delete,
        right=Right.VIEW,
        methods=("POST",),
    ),
    Page(path="/exports", name="export", handler=jobs.start_export, right=Right.EXPORT, methods=("POST",)),
    Page(path="/jobs", name="jobs", handler=jobs.listed, right=Right.VIEW),
    Page(path="/jobs/{job_id}", name="job", handler=jobs.watched, right=Right.VIEW),
    Page(
        path="/jobs/{job_id}/cancel",
        name="job_cancel",
        handler=jobs.cancel,
        right=Right.VIEW,
        methods=("POST",),
    ),
    Page(path="/jobs/{job_id}/file", name="job_file", handler=jobs.file, right=Right.EXPORT),
)
