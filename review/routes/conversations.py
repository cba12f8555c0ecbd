"""Routes of conversations: who may answer."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.conversations import page
from review.http.visit import PageRoute

CONVERSATIONS: Final = (
    PageRoute(path="/conversations", name="conversations", handler=page.list_conversations, right=Right.VIEW),
    PageRoute(
        path="/conversations/take",
        name="conversation_take",
        handler=page.take,
        right=Right.REVIEW,
        methods=("POST",),
    ),
    PageRoute(
        path="/conversations/release",
        name="conversation_release",
        handler=page.release,
        right=Right.REVIEW,
        methods=("POST",),
    ),
)
