"""Routes of decisions: the list, one decision, views, exports and other jobs."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.decision import case_file, page, prompt_page
from review.http.page_routes import get, post
from review.lists import decisions_page, jobs_page, list_layout_page, list_search, views_page

DECISIONS: Final = (
    get("/decisions/search", "decision_search", list_search.suggest_filters, Right.VIEW),
    get("/decisions/count", "decisions_count", decisions_page.show_count, Right.VIEW),
    post("/decisions/layout", "decisions_layout", list_layout_page.save_layout, Right.VIEW),
    # one decision
    get("/decisions/{decision_id}", "decision", page.show_decision, Right.VIEW),
    post("/decisions/{decision_id}/reveal", "decision_reveal", page.reveal_texts, Right.VIEW),
    get("/decisions/{decision_id}/panels/{names}", "decision_panels", page.show_panels, Right.VIEW),
    get("/decisions/{decision_id}/similar", "decision_similar", page.show_similar, Right.VIEW),
    get("/decisions/{decision_id}/case", "decision_case", case_file.download_case, Right.VIEW),
    get("/decisions/{decision_id}/prompt", "decision_prompt", prompt_page.show_prompt, Right.AUDIT),
    # the list of decisions, views, exports
    get("/decisions", "decisions", decisions_page.list_decisions, Right.VIEW),
    get("/views", "views", views_page.list_views, Right.VIEW),
    post("/views", "view_keep", views_page.save_view, Right.VIEW),
    post("/views/{view_id}", "view", views_page.change_view, Right.VIEW),
    post("/views/{view_id}/delete", "view_delete", views_page.delete_view, Right.VIEW),
    post("/exports", "export", jobs_page.start_export, Right.EXPORT),
    get("/jobs", "jobs", jobs_page.list_jobs, Right.VIEW),
    get("/jobs/{job_id}", "job", jobs_page.show_job, Right.VIEW),
    post("/jobs/{job_id}/cancel", "job_cancel", jobs_page.cancel_job, Right.VIEW),
    get("/jobs/{job_id}/file", "job_file", jobs_page.download_export, Right.EXPORT),
)
