"""Routes of what surrounds every page: appearance."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.http.page_routes import post
from review.profile import appearance_page

SHELL: Final = (post("/appearance", "appearance", appearance_page.change_appearance, Right.SIGNED_IN),)
