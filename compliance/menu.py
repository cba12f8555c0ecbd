"""Links to the pages of compliance: in the navigation, the tabs of an account, and the page of a decision."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.languages import mark
from review.shell.links import NavigationGroup, nav_link
from review.shell.menu import MenuEntry, MenuPlace

NAVIGATION: Final = (
    nav_link(mark("Appeals"), "/appeals", Right.REVIEW, NavigationGroup.REVIEWING, "flag", "f"),
)
MENU: Final = (
    MenuEntry(
        place=MenuPlace.ACCOUNT,
        route="holds",
        title=mark("Holds and erasure"),
        right=Right.ADMIN,
    ),
    MenuEntry(
        place=MenuPlace.ACCOUNT,
        route="statements",
        title=mark("Statements"),
        right=Right.EXPORT,
    ),
    MenuEntry(
        place=MenuPlace.DECISION_REVIEW,
        route="decision_appeal",
        title=mark("Enter an appeal of the author"),
        right=Right.REVIEW,
        only="ignore",
    ),
)
