"""The page that shows the design system, for developers."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from review.http.visit import Visit
from review.shell.colours import measured
from review.shell.icons import icon_names

TYPE_SCALE: Final = ("type-xs", "type-s", "type-m", "type-l", "type-xl")
SPACES: Final = ("space-1", "space-2", "space-3", "space-4", "space-6", "space-8")


async def show_design(visit: Visit) -> Response:
    """Tokens, elements and components of the style sheet."""
    return visit.render(
        "shell/design.html", pairs=measured(), icons=icon_names(), scale=TYPE_SCALE, spaces=SPACES
    )
