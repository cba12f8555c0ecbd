"""The tabs of an account's pages: five in view, and the rest behind *More*."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from review.access import Right
from review.languages import mark
from review.shell.menu import MenuEntry, MenuPlace, menu

MayOn: TypeAlias = Callable[[Right, str], bool]
"""Whether a person has a right on an account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountTab:
    """A tab; with several pages it opens the first, and these stand below the tabs.

    Attributes:
        title: marked for translation.
    """

    title: str
    pages: tuple[MenuEntry, ...]

    def has(self, route: str) -> bool:
        """Whether a page belongs to the tab."""
        return any(each.route == route for each in self.pages)


def _page(route: str, title: str, right: Right = Right.VIEW) -> MenuEntry:
    return MenuEntry(place=MenuPlace.ACCOUNT, route=route, title=title, right=right)


TABS: Final = (
    AccountTab(title=mark("Home"), pages=(_page("owner_home", mark("Home")),)),
    AccountTab(
        title=mark("Conversations"),
        pages=(
            _page("account_waiting", mark("Waiting"), Right.REVIEW),
            _page("account_answered", mark("Answered")),
        ),
    ),
    AccountTab(
        title=mark("Knowledge"),
        pages=(_page("documents", mark("Documents")), _page("suggestions", mark("Suggestions"))),
    ),
    AccountTab(title=mark("Rules"), pages=(_page("rules", mark("Rules")),)),
    AccountTab(title=mark("Settings"), pages=(_page("settings", mark("Settings")),)),
)
"""Those that an owner needs every day."""
MORE: Final = (
    _page("history", mark("History")),
    _page("limits", mark("Limits")),
    _page("channels", mark("Channels"), Right.ADMIN),
    _page("webhooks", mark("Webhooks"), Right.ADMIN),
)


def account_tabs(may: MayOn, account: str) -> tuple[AccountTab, ...]:
    """The tabs in view, with the pages that a person may open on the account."""
    shown = (AccountTab(title=each.title, pages=_open(each.pages, may, account)) for each in TABS)
    return tuple(each for each in shown if each.pages)


def more_tabs(may: MayOn, account: str) -> tuple[MenuEntry, ...]:
    """The pages behind *More* that a person may open on the account; those of features come last."""
    return _open((*MORE, *menu(MenuPlace.ACCOUNT)), may, account)


def _open(pages: tuple[MenuEntry, ...], may: MayOn, account: str) -> tuple[MenuEntry, ...]:
    return tuple(each for each in pages if may(each.right, account))
