"""What the command palette finds without the database: pages, filters of the list, searches for a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Final
from urllib.parse import urlencode

from review import wording
from review.access import Right
from review.languages import gettext as _
from review.languages import mark
from review.shell.navigation import LINKS
from worker.model import DecisionKind
from worker.reasons import Reason

QUERY_CHARS: Final = 200
MOST_FILTERS: Final = 6
"""Reasons and decisions shown for one query."""


class TargetGroup(StrEnum):
    """A heading of the palette's results."""

    FOUND = mark("Found")
    PAGES = mark("Pages")
    FILTERS = mark("Lists of decisions")
    ACCOUNTS = mark("Accounts")
    PEOPLE = mark("People")
    SEARCH = mark("Search decisions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One place that a person may go to.

    Attributes:
        title: in the reader's language, or a text of a publisher or person.
        detail: more about it, shown muted.
        key: the shortcut that leads there as well.
    """

    group: TargetGroup
    title: str
    url: str
    icon: str
    detail: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    title: str
    path: str
    icon: str
    right: Right = Right.SIGNED_IN


OTHER_PAGES: Final = (
    _Page(title=mark("Inbox"), path="/inbox", icon="bell", right=Right.VIEW),
    _Page(title=mark("Saved views"), path="/views", icon="star", right=Right.VIEW),
    _Page(title=mark("Jobs and exports"), path="/jobs", icon="download", right=Right.VIEW),
    _Page(title=mark("Profile"), path="/profile", icon="user"),
    _Page(title=mark("Digest"), path="/profile/digest", icon="calendar", right=Right.VIEW),
    _Page(title=mark("API tokens"), path="/profile/tokens", icon="key-round"),
    _Page(title=mark("Password"), path="/profile/password", icon="lock"),
    _Page(title=mark("Design system"), path="/design", icon="contrast"),
)
"""Pages that the navigation does not show."""


def targets(query: str, may: Callable[[Right], bool]) -> tuple[Target, ...]:
    """Pages and lists whose title has every word of the query; without one, the pages of the navigation."""
    words = query.casefold().split()
    found = [each for each in _pages(may, everything=bool(words)) if _matches(each.title, words)]
    if not words or not may(Right.VIEW):
        return tuple(found)
    filters = [each for each in _filters() if _matches(f"{each.title} {each.detail}", words)]
    filters.sort(key=lambda each: not each.title.casefold().startswith(words[0]))
    return (*found, *filters[:MOST_FILTERS])


def searches(query: str) -> tuple[Target, ...]:
    """Lists of decisions that hold this text, from this author or in this conversation."""
    named = (
        (_("Messages that contain “%(text)s”"), "text", "search"),
        (_("Messages of the author “%(text)s”"), "author", "user"),
        (_("Messages of the conversation “%(text)s”"), "conversation", "messages-square"),
    )
    return tuple(
        Target(
            group=TargetGroup.SEARCH,
            title=title % {"text": query},
            url="/decisions?" + urlencode({"since": "all", name: query}),
            icon=icon,
        )
        for title, name, icon in named
    )


def by_group(found: Iterable[Target]) -> list[tuple[TargetGroup, list[Target]]]:
    """Targets under their headings, in the order of the headings."""
    order = list(TargetGroup)
    ordered = sorted(found, key=lambda each: order.index(each.group))
    return [(group, list(members)) for group, members in groupby(ordered, key=lambda each: each.group)]


def _matches(text: str, words: list[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


def _pages(may: Callable[[Right], bool], *, everything: bool) -> Iterable[Target]:
    for link in LINKS:
        if may(link.right):
            title = _(link.title)
            key = f"g {link.key}"
            yield Target(group=TargetGroup.PAGES, title=title, url=link.path, icon=link.icon, key=key)
    for page in OTHER_PAGES if everything else ():
        if may(page.right):
            yield Target(group=TargetGroup.PAGES, title=_(page.title), url=page.path, icon=page.icon)


def _filters() -> Iterable[Target]:
    for kind in DecisionKind:
        title = wording.decision_label(kind)
        yield Target(group=TargetGroup.FILTERS, title=title, url=f"/decisions?decision={kind}", icon="funnel")
    for reason in Reason:
        yield Target(
            group=TargetGroup.FILTERS,
            title=wording.reason_label(reason),
            detail=reason,
            url=f"/decisions?reason={reason}",
            icon="funnel",
        )
