"""The tabs above every page of one account."""

from __future__ import annotations

from typing import Final

from features.feature import items
from review.access import Right
from review.languages import mark
from review.shell.links import AccountTab

TABS: Final[tuple[AccountTab, ...]] = (
    AccountTab(page="owner_home", title=mark("Home")),
    AccountTab(page="rules", title=mark("Rules")),
    AccountTab(page="history", title=mark("History")),
    AccountTab(page="documents", title=mark("Documents")),
    AccountTab(page="suggestions", title=mark("Suggestions")),
    AccountTab(page="learn", title=mark("Learn")),
    AccountTab(page="sentences", title=mark("Settings")),
    AccountTab(page="settings", title=mark("Advanced")),
    AccountTab(page="limits", title=mark("Limits")),
    AccountTab(page="webhooks", title=mark("Webhooks"), right=Right.ADMIN),
    *items("account_tabs"),
)
"""In display order."""
