"""Parts of pages that optional features render."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from features.feature import panel_functions

NOTHING: Markup = Markup("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A rendered part of a page.

    Attributes:
        detail: what the access log says about the reading, beside the page's own detail.
    """

    html: Markup = NOTHING
    detail: dict[str, int] = field(default_factory=dict)


async def load_panels(place: str, *subject: Any) -> Panel:
    """The panels of a place, joined in the order of the features; numbers of one name are added."""
    found = [await panel(*subject) for panel in panel_functions(place)]
    detail = Counter[str]()
    for each in found:
        detail.update(each.detail)
    return Panel(html=Markup("").join(each.html for each in found), detail=dict(detail))
