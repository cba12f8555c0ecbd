"""Theme and width of the sidebar: kept in the browser's cookies, set by a form of the user menu."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

THEME_COOKIE: Final = "hushgate-theme"
SIDEBAR_COOKIE: Final = "hushgate-sidebar"
KEPT_S: Final = 365 * 86_400
"""How long a browser keeps the choice."""


class Theme(StrEnum):
    """The colours of the pages."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class Sidebar(StrEnum):
    """The navigation of a wide screen."""

    WIDE = "wide"
    NARROW = "narrow"
    """Icons only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appearance:
    """What a browser chose."""

    theme: Theme = Theme.SYSTEM
    sidebar: Sidebar = Sidebar.WIDE


def appearance(cookies: Mapping[str, str]) -> Appearance:
    """The choice in the cookies of a request; unknown values are the default."""
    theme, sidebar = cookies.get(THEME_COOKIE, ""), cookies.get(SIDEBAR_COOKIE, "")
    return Appearance(
        theme=Theme(theme) if theme in tuple(Theme) else Theme.SYSTEM,
        sidebar=Sidebar(sidebar) if sidebar in tuple(Sidebar) else Sidebar.WIDE,
    )
