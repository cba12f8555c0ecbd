"""Routes of what surrounds every page: appearance, the command palette, the design system."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.http.page_routes import get, post
from review.shell import appearance_page, design_page, go_page

SHELL: Final = (
    get("/go", "go", go_page.show_go, Right.SIGNED_IN),
    get("/design", "design", design_page.show_design, Right.SIGNED_IN),
    post("/appearance", "appearance", appearance_page.change_appearance, Right.SIGNED_IN),
)
