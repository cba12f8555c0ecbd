"""Fragments that optional features add to a page."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from features.feature import parts
from review.http.visit import Visit


async def feature_panels(visit: Visit, place: str, subject: Any) -> tuple[Markup, ...]:
    """The fragments for a place: ``decision`` with a row of the audit, or ``subject`` with a ``Subject``."""
    return tuple([await panels[place](visit, subject) for panels in parts("panels") if place in panels])
