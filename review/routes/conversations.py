"""Routes of conversations: who may answer."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.conversations import page
from review.http.page_routes import get, post

CONVERSATIONS: Final = (
    get("/conversations", "conversations", page.list_conversations, Right.VIEW),
    post("/conversations/take", "conversation_take", page.take, Right.REVIEW),
    post("/conversations/release", "conversation_release", page.release, Right.REVIEW),
)
