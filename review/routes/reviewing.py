"""The addresses of reviewing: forms, queues, items of queues."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.pages import bulk, decision, items, queues, reviewing, single_keys
from review.web import Page

REVIEWING: Final = (
    Page(
        path="/decisions/{decision_id}/review",
        name="decision_review_form",
        handler=decision.page,
        right=Right.VIEW,
    ),
    Page(
        path="/decisions/{decision_id}/review",
        name="decision_review",
        handler=reviewing.submit,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    Page(
        path="/reviews/{review_id}/undo",
        name="review_undo",
        handler=reviewing.undo,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    Page(path="/queues", name="queues", handler=queues.index, right=Right.REVIEW),
    Page(path="/queues", name="queue_create", handler=queues.create, right=Right.LEAD, methods=("POST",)),
    Page(
        path="/queues/{queue_id}/next",
        name="queue_take",
        handler=queues.take,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    Page(
        path="/queues/{queue_id}/unskip",
        name="queue_unskip",
        handler=queues.unskip,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    Page(
        path="/queues/{queue_id}/close",
        name="queue_close",
        handler=queues.close,
        right=Right.LEAD,
        methods=("POST",),
    ),
    Page(
        path="/items/{item_id}/renew",
        name="item_renew",
        handler=items.renew,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    Page(
        path="/items/{item_id}/skip",
        name="item_skip",
        handler=items.skip,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    Page(
        path="/items/{item_id}/release",
        name="item_release",
        handler=items.release,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    Page(
        path="/profile/keys",
        name="keys",
        handler=single_keys.switch,
        right=Right.SIGNED_IN,
        methods=("POST",),
    ),
    Page(
        path="/decisions/{decision_id}/known",
        name="golden_mark",
        handler=items.mark,
        right=Right.LEAD,
        methods=("POST",),
    ),
    Page(
        path="/decisions/{decision_id}/pick",
        name="queue_pick",
        handler=items.pick,
        right=Right.LEAD,
        methods=("POST",),
    ),
    Page(path="/bulk", name="bulk", handler=bulk.form, right=Right.LEAD),
    Page(path="/bulk", name="bulk_start", handler=bulk.start, right=Right.LEAD, methods=("POST",)),
)
