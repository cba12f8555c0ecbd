"""The links around every page: groups of pages, and which of them the bar of a narrow screen shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from features.feature import hook_items
from review.access import Right
from review.languages import mark
from review.shell.links import NavigationGroup, NavigationLink, nav_link

IN_BAR: Final = 4
"""Links in the bar of a narrow screen; the fifth entry opens the rest."""
REVIEWING, INSIGHT, ADMINISTRATION = NavigationGroup
CORE: Final = (
    nav_link(mark("Home"), "/", Right.VIEW, REVIEWING, "house", "h"),
    nav_link(
        mark("Decisions"),
        "/decisions",
        Right.VIEW,
        REVIEWING,
        "list-checks",
        "d",
        related_paths=("/views", "/jobs", "/bulk"),
    ),
    nav_link(mark("To answer"), "/escalations", Right.REVIEW, REVIEWING, "hand", "e", counted=True),
    nav_link(mark("Queues"), "/queues", Right.REVIEW, REVIEWING, "inbox", "q", counted=True),
    nav_link(mark("Conversations"), "/conversations", Right.VIEW, INSIGHT, "messages-square", "c"),
    nav_link(mark("Dashboard"), "/dashboard", Right.VIEW, INSIGHT, "chart-column", "b"),
    nav_link(mark("Agreement"), "/agreement", Right.LEAD, INSIGHT, "scale", "a"),
    nav_link(mark("Accounts"), "/accounts", Right.VIEW, ADMINISTRATION, "store", "s"),
    nav_link(mark("People"), "/people", Right.ADMIN, ADMINISTRATION, "users", "p"),
    nav_link(mark("Access log"), "/access-log", Right.AUDIT, ADMINISTRATION, "scroll-text", "l"),
)
LINKS: Final[tuple[NavigationLink, ...]] = tuple(
    sorted((*CORE, *hook_items("navigation")), key=lambda link: list(NavigationGroup).index(link.group))
)
"""In display order; the links of features end their groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationSection:
    """Links under one heading; the heading is empty when the bar has shown it already."""

    heading: str
    links: tuple[NavigationLink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation:
    """The links that one person may open.

    Attributes:
        bar: in the bar of a narrow screen, at most ``IN_BAR`` links in all.
        rest: behind *More* on a narrow screen.
        here: the path of the current link; empty on other pages.
    """

    bar: tuple[NavigationSection, ...]
    rest: tuple[NavigationSection, ...]
    here: str

    @property
    def links(self) -> tuple[NavigationLink, ...]:
        """All links in display order."""
        return tuple(link for section in (*self.bar, *self.rest) for link in section.links)


def navigation(may: Callable[[Right], bool], path: str) -> Navigation:
    """The links that the person may open, on the page at this path."""
    links = [link for link in LINKS if may(link.right)]
    first = "/" + path.split("/")[1]
    here = next((link.path for link in links if first in (link.path, *link.related_paths)), "")
    shown = IN_BAR if len(links) > IN_BAR + 1 else IN_BAR + 1
    bar = _sections(links[:shown])
    return Navigation(bar=bar, rest=_sections(links[shown:], bar[-1].heading if bar else ""), here=here)


def _sections(links: Iterable[NavigationLink], begun: str = "") -> tuple[NavigationSection, ...]:
    return tuple(
        NavigationSection(heading="" if group == begun else group.value, links=tuple(members))
        for group, members in groupby(links, key=lambda link: link.group)
    )
