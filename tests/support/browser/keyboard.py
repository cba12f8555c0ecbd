"""Moving and typing with the keyboard alone."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import Locator, Page

FARTHEST: Final = 120
"""Tabs after which something counts as out of reach."""


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until something has the focus; fails when it never has."""
    for _ in range(FARTHEST):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{target} was not reached by {FARTHEST} tabs")


def type_at(page: Page, target: Locator, text: str) -> None:
    """Tab to a field and type; what it held is replaced."""
    tab_to(page, target)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)
