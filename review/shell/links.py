"""The types of the navigation around every page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from review.access import Right
from review.languages import mark


class NavigationGroup(StrEnum):
    """A heading of the navigation."""

    REVIEWING = mark("Reviewing")
    INSIGHT = mark("Insight")
    ADMINISTRATION = mark("Administration")


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationLink:
    """One link of the navigation, for people with the right on any account.

    Attributes:
        key: typed after ``g``, it opens the page.
        icon: its name in the sprite.
        counted: with the number of what waits behind it, see ``review.home.page``.
        related_paths: first parts of paths of pages that belong to this one.
    """

    title: str
    path: str
    right: Right
    group: NavigationGroup
    icon: str
    key: str
    related_paths: tuple[str, ...] = ()
    counted: bool = False


def nav_link(  # noqa: PLR0917  # a row of the navigation
    title: str, path: str, right: Right, group: NavigationGroup, icon: str, key: str, **more: Any
) -> NavigationLink:
    """A link; ``more`` are its other attributes."""
    return NavigationLink(title=title, path=path, right=right, group=group, icon=icon, key=key, **more)
