"""Links to the pages of compliance: in the navigation, and in the tabs of an account."""

from __future__ import annotations

from typing import Final

from review.access import Right
from review.languages import mark
from review.shell.links import AccountTab, NavigationGroup, NavigationLink

LINKS: Final = (
    NavigationLink(
        title=mark("Appeals"),
        path="/appeals",
        right=Right.REVIEW,
        group=NavigationGroup.REVIEWING,
        icon="flag",
        key="f",
    ),
)
TABS: Final = (
    AccountTab(page="holds", title=mark("Holds and erasure"), right=Right.ADMIN),
    AccountTab(page="statements", title=mark("Statements"), right=Right.EXPORT),
)
