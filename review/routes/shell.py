"""Routes of what surrounds every page: appearance, and counts of the navigation."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.home import counts
from review.http.page_routes import get, post
from review.profile import appearance_page

SHELL: Final = (
    post("/appearance", "appearance", appearance_page.change_appearance, Right.SIGNED_IN),
    get("/counts", "counts", counts.show_counts, Right.REVIEW),
)
