"""Routes of comments, mentions and assignments."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.collaboration import assign_page, comments_page, inbox_page
from review.http.page_routes import get, post

DECISION: Final = "/decisions/{decision_id}"
WITHDRAW: Final = DECISION + "/comments/{comment_id}/withdraw"
COLLABORATION: Final = (
    get("/inbox", "inbox", inbox_page.show_inbox, Right.VIEW),
    post("/inbox", "inbox_read", inbox_page.mark_read, Right.VIEW),
    post(DECISION + "/comments", "comment_add", comments_page.add_comment, Right.VIEW),
    post(WITHDRAW, "comment_withdraw", comments_page.withdraw_comment, Right.VIEW),
    post(DECISION + "/assign", "assign", assign_page.assign, Right.REVIEW),
    post(DECISION + "/assign/undo", "assign_undo", assign_page.undo, Right.REVIEW),
)
