"""Routes of reviewing: forms, queues, items of queues."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.auth import shortcuts_page
from review.decision import page
from review.http.visit import PageRoute
from review.queues import (
    bulk_pages,
    item_pages,
    queue_pages,
    review_pages,
)

REVIEWING: Final = (
    PageRoute(
        path="/decisions/{decision_id}/review",
        name="decision_review_form",
        handler=page.show_decision,
        right=Right.VIEW,
    ),
    PageRoute(
        path="/decisions/{decision_id}/review",
        name="decision_review",
        handler=review_pages.submit_review,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/reviews/{review_id}/undo",
        name="review_undo",
        handler=review_pages.undo_review,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    PageRoute(path="/queues", name="queues", handler=queue_pages.list_queues, right=Right.REVIEW),
    PageRoute(
        path="/queues",
        name="queue_create",
        handler=queue_pages.create_queue,
        right=Right.LEAD,
        methods=("POST",),
    ),
    PageRoute(
        path="/queues/{queue_id}/next",
        name="queue_take",
        handler=queue_pages.take_next,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/queues/{queue_id}/unskip",
        name="queue_unskip",
        handler=queue_pages.restore_skipped,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/queues/{queue_id}/close",
        name="queue_close_form",
        handler=queue_pages.confirm_close,
        right=Right.LEAD,
    ),
    PageRoute(
        path="/queues/{queue_id}/close",
        name="queue_close",
        handler=queue_pages.close_queue,
        right=Right.LEAD,
        methods=("POST",),
    ),
    PageRoute(
        path="/items/{item_id}/renew",
        name="item_renew",
        handler=item_pages.renew_item,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/items/{item_id}/skip",
        name="item_skip",
        handler=item_pages.skip_item,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/items/{item_id}/release",
        name="item_release",
        handler=item_pages.release_item,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/profile/keys",
        name="keys",
        handler=shortcuts_page.switch_shortcuts,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    PageRoute(
        path="/decisions/{decision_id}/known",
        name="golden_mark",
        handler=item_pages.set_golden_answer,
        right=Right.LEAD,
        methods=("POST",),
    ),
    PageRoute(
        path="/decisions/{decision_id}/pick",
        name="queue_pick",
        handler=item_pages.add_to_queue,
        right=Right.LEAD,
        methods=("POST",),
    ),
    PageRoute(path="/bulk", name="bulk", handler=bulk_pages.show_bulk_form, right=Right.LEAD),
    PageRoute(
        path="/bulk",
        name="bulk_start",
        handler=bulk_pages.start_bulk_review,
        right=Right.LEAD,
        methods=("POST",),
    ),
)
