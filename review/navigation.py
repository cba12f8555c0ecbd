"""The links at the top of every page, in the order in which people need them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from review.access import Right


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One link; it is shown to who has the right on any account.

    Attributes:
        beside: other paths that belong to it.
    """

    name: str
    title: str
    path: str
    right: Right
    beside: tuple[str, ...] = ()


LINKS: Final[tuple[Link, ...]] = (
    Link(
        name="decisions",
        title="Decisions",
        path="/decisions",
        right=Right.VIEW,
        beside=("/views", "/jobs"),
    ),
    Link(name="queues", title="Queues", path="/queues", right=Right.REVIEW),
    Link(name="dashboard", title="Dashboard", path="/dashboard", right=Right.VIEW),
    Link(name="agreement", title="Agreement", path="/agreement", right=Right.LEAD),
    Link(name="accounts", title="Accounts", path="/accounts", right=Right.VIEW),
    Link(name="people", title="People", path="/people", right=Right.ADMIN),
    Link(name="access_log", title="Access log", path="/access-log", right=Right.AUDIT),
)
"""One line per page that people go to; its path is the route's of the same name."""


def entries(may: Callable[[Right], bool], path: str) -> tuple[tuple[Link, bool], ...]:
    """The links somebody may follow, each with whether they are there."""
    first = "/" + path.split("/")[1]
    return tuple((link, first in (link.path, *link.beside)) for link in LINKS if may(link.right))
