"""Routes of authors and conversations of an account."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.http import identifiers  # noqa: F401  # it declares the convertor of the paths
from review.http.page_routes import get, post
from review.subjects import page

AUTHOR: Final = "/accounts/{account:path}/authors/{author_ref:identifier}"
CONVERSATION: Final = "/accounts/{account:path}/conversations/{conversation_ref:identifier}"
SUBJECTS: Final = (
    get(AUTHOR, "author", page.show_author, Right.VIEW),
    post(AUTHOR, "author_post", page.change_author, Right.REVIEW),
    get(CONVERSATION, "conversation", page.show_conversation, Right.VIEW),
    post(CONVERSATION, "conversation_post", page.change_conversation, Right.REVIEW),
)
