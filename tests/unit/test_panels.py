"""Panels of features, joined."""

from __future__ import annotations

import asyncio

import pytest
from markupsafe import Markup

from review import panels
from review.panels import Panel, load_panels


def test_nothing_of_a_panel_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two features that count under one name are added."""

    async def panel(subject: str) -> Panel:
        return Panel(html=Markup("<p>"), detail={"replies": 2, subject: 1})

    monkeypatch.setattr(panels, "panel_functions", lambda _: (panel, panel))
    found = asyncio.run(load_panels("decision", "read"))

    assert found == Panel(html=Markup("<p><p>"), detail={"replies": 4, "read": 2})
