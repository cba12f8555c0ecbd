"""Routes of decisions, their reviews, conversations and authors, and of the figures about them."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.agreement import page as agreement_page
from review.collaboration import pages as collaboration_pages
from review.conversations import page as conversations_page
from review.dashboard import dashboard_page, figure_files, goals_page
from review.decision import case_file, prompt_page
from review.decision import page as decision_page
from review.escalations import inbox
from review.escalations import pages as answer_pages
from review.http import identifiers  # noqa: F401  # it declares the convertor of the paths
from review.http.page_routes import get, post
from review.lists import decisions_page, jobs_page, list_search, views_page
from review.profile import profile_page
from review.queues import bulk_pages, item_pages, queue_pages, review_pages
from review.subjects import page as subject_page

DECISIONS: Final = (
    get("/decisions/search", "decision_search", list_search.suggest_filters, Right.VIEW),
    get("/decisions/count", "decisions_count", decisions_page.show_count, Right.VIEW),
    post("/decisions/layout", "decisions_layout", views_page.save_layout, Right.VIEW),
    # one decision
    get("/decisions/{decision_id}", "decision", decision_page.show_decision, Right.VIEW),
    post("/decisions/{decision_id}/reveal", "decision_reveal", decision_page.reveal_texts, Right.VIEW),
    get("/decisions/{decision_id}/panels/{names}", "decision_panels", decision_page.show_panels, Right.VIEW),
    get("/decisions/{decision_id}/similar", "decision_similar", decision_page.show_similar, Right.VIEW),
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

DECISION: Final = "/decisions/{decision_id}"
WITHDRAW: Final = DECISION + "/comments/{comment_id}/withdraw"
COLLABORATION: Final = (
    get("/inbox", "inbox", collaboration_pages.show_inbox, Right.VIEW),
    post("/inbox", "inbox_read", collaboration_pages.mark_read, Right.VIEW),
    post(DECISION + "/comments", "comment_add", collaboration_pages.add_comment, Right.VIEW),
    post(WITHDRAW, "comment_withdraw", collaboration_pages.withdraw_comment, Right.VIEW),
    post(DECISION + "/assign", "assign", collaboration_pages.assign, Right.REVIEW),
    post(DECISION + "/assign/undo", "assign_undo", collaboration_pages.undo, Right.REVIEW),
)

CONVERSATIONS: Final = (
    get("/conversations", "conversations", conversations_page.list_conversations, Right.VIEW),
    post("/conversations/take", "conversation_take", conversations_page.take, Right.REVIEW),
    post("/conversations/release", "conversation_release", conversations_page.release, Right.REVIEW),
)

REVIEWING: Final = (
    get("/decisions/{decision_id}/review", "decision_review_form", decision_page.show_decision, Right.VIEW),
    post("/decisions/{decision_id}/review", "decision_review", review_pages.submit_review, Right.REVIEW),
    get("/escalations", "escalations", inbox.list_waiting, Right.REVIEW),
    get("/escalations/{decision_id}", "escalation", inbox.show_case, Right.REVIEW),
    post("/escalations/{decision_id}", "escalation_answer", inbox.answer_case, Right.REVIEW),
    get("/decisions/{decision_id}/answer", "decision_answer_form", decision_page.show_decision, Right.VIEW),
    post("/decisions/{decision_id}/answer", "decision_answer", answer_pages.submit_answer, Right.REVIEW),
    post("/reviews/{review_id}/undo", "review_undo", review_pages.undo_review, Right.REVIEW),
    get("/queues", "queues", queue_pages.list_queues, Right.REVIEW),
    post("/queues", "queue_create", queue_pages.create_queue, Right.LEAD),
    post("/queues/{queue_id}/next", "queue_take", queue_pages.take_next, Right.REVIEW),
    get("/queues/{queue_id}/done", "queue_done", queue_pages.show_end, Right.REVIEW),
    post("/queues/{queue_id}/unskip", "queue_unskip", queue_pages.restore_skipped, Right.REVIEW),
    get("/queues/{queue_id}/close", "queue_close_form", queue_pages.confirm_close, Right.LEAD),
    post("/queues/{queue_id}/close", "queue_close", queue_pages.close_queue, Right.LEAD),
    post("/items/{item_id}/renew", "item_renew", item_pages.renew_item, Right.REVIEW),
    post("/items/{item_id}/skip", "item_skip", item_pages.skip_item, Right.REVIEW),
    post("/items/{item_id}/release", "item_release", item_pages.release_item, Right.REVIEW),
    post("/profile/keys", "keys", profile_page.switch_shortcuts, Right.SIGNED_IN),
    post("/decisions/{decision_id}/known", "golden_mark", item_pages.set_golden_answer, Right.LEAD),
    post("/decisions/{decision_id}/pick", "queue_pick", item_pages.add_to_queue, Right.LEAD),
    get("/bulk", "bulk", bulk_pages.show_bulk_form, Right.LEAD),
    post("/bulk", "bulk_start", bulk_pages.start_bulk_review, Right.LEAD),
    post("/bulk/preview", "bulk_preview", bulk_pages.preview_bulk_review, Right.LEAD),
    post("/jobs/{job_id}/undo", "job_undo", bulk_pages.undo_bulk_review, Right.LEAD),
)

AUTHOR: Final = "/accounts/{account:path}/authors/{author_ref:identifier}"
CONVERSATION: Final = "/accounts/{account:path}/conversations/{conversation_ref:identifier}"
SUBJECTS: Final = (
    get(AUTHOR, "author", subject_page.show_author, Right.VIEW),
    post(AUTHOR, "author_post", subject_page.change_author, Right.REVIEW),
    get(CONVERSATION, "conversation", subject_page.show_conversation, Right.VIEW),
    post(CONVERSATION, "conversation_post", subject_page.change_conversation, Right.REVIEW),
)

FIGURES: Final = (
    get("/dashboard", "dashboard", dashboard_page.show_dashboard, Right.VIEW),
    get("/dashboard/figures/{figure}.csv", "figure_csv", figure_files.download_csv, Right.VIEW),
    get("/dashboard/figures/{figure}.svg", "figure_svg", figure_files.download_svg, Right.VIEW),
    post("/dashboard/goals", "goals_post", goals_page.save_goal, Right.LEAD),
    post("/dashboard/notes", "notes_post", goals_page.add_note, Right.LEAD),
    post("/dashboard/notes/{note:int}/remove", "note_remove", goals_page.remove_note, Right.LEAD),
    get("/agreement", "agreement", agreement_page.show_agreement, Right.LEAD),
)
