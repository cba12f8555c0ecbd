"""Routes of reviewing: forms, queues, items of queues."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.decision import page
from review.escalations import inbox
from review.escalations import pages as answer_pages
from review.http.page_routes import get, post
from review.profile import profile_page
from review.queues import bulk_pages, item_pages, queue_pages, review_pages

REVIEWING: Final = (
    get("/decisions/{decision_id}/review", "decision_review_form", page.show_decision, Right.VIEW),
    post("/decisions/{decision_id}/review", "decision_review", review_pages.submit_review, Right.REVIEW),
    get("/escalations", "escalations", inbox.list_waiting, Right.REVIEW),
    get("/escalations/{decision_id}", "escalation", inbox.show_case, Right.REVIEW),
    post("/escalations/{decision_id}", "escalation_answer", inbox.answer_case, Right.REVIEW),
    get("/decisions/{decision_id}/answer", "decision_answer_form", page.show_decision, Right.VIEW),
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
