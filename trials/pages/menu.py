"""The links to the pages of trials."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.languages import mark
from review.shell.menu import MenuEntry, MenuPlace

MENU: Final = (
    MenuEntry(
        place=MenuPlace.ACCOUNT, route="learn", title=mark("Learn"), right=Right.VIEW, after="suggestions"
    ),
    MenuEntry(place=MenuPlace.DECISION, route="decision_replay", title=mark("Replay"), right=Right.LEAD),
)
