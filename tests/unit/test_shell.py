"""Navigation and appearance."""

from __future__ import annotations

import pytest

from db.people.records import Role
from review.access import RIGHTS, Right
from review.routes import PAGES
from review.shell.account_tabs import account_tabs, more_tabs
from review.shell.appearance import Appearance, Sidebar, Theme, appearance
from review.shell.navigation import IN_BAR, LINKS, navigation


def _may(*roles: Role) -> frozenset[Right]:
    return frozenset({Right.SIGNED_IN}.union(*(RIGHTS[role] for role in roles)))


@pytest.mark.parametrize("role", Role)
def test_the_bar_of_a_phone_has_at_most_five_entries(role: Role) -> None:
    """Four links and More, or five links; all that the role may open, once, in order."""
    rights = _may(role)
    found = navigation(rights.__contains__, "/")
    bar = [link for section in found.bar for link in section.links]
    entries = len(bar) + bool(found.rest)

    assert entries <= IN_BAR + 1
    assert found.links == tuple(link for link in LINKS if link.right in rights)


def test_a_heading_stands_once() -> None:
    """A group that the bar has begun has no second heading behind More."""
    found = navigation(_may(Role.VIEWER).__contains__, "/decisions")
    headings = [section.heading for section in (*found.bar, *found.rest) if section.heading]

    assert len(headings) == len(set(headings))


@pytest.mark.parametrize(
    ("path", "here"),
    [("/", "/"), ("/decisions/1", "/decisions"), ("/jobs", "/decisions"), ("/profile", ""), ("/people", "")],
)
def test_the_current_link_is_the_page_s(path: str, here: str) -> None:
    """Pages below a link belong to it; a page that a person may not open marks nothing."""
    assert navigation(_may(Role.REVIEWER).__contains__, path).here == here


def test_every_link_has_its_own_key() -> None:
    """Two pages on one key would leave one out of reach."""
    assert len({link.key for link in LINKS}) == len(LINKS)


@pytest.mark.parametrize("role", Role)
def test_the_tabs_of_an_account_lead_to_pages_that_the_role_may_open(role: Role) -> None:
    """Each page once; five tabs at most are in view, for owners all of them."""
    rights, needed = _may(role), {page.name: page.right for page in PAGES}
    tabs = account_tabs(lambda right, _account: right in rights, "shop")
    routes = [page.route for tab in tabs for page in tab.pages]
    routes += [page.route for page in more_tabs(lambda right, _account: right in rights, "shop")]

    assert len(routes) == len(set(routes))
    assert all(needed[route] in rights for route in routes)
    assert len(tabs) == 5 or role is not Role.OWNER


@pytest.mark.parametrize(
    ("cookies", "expected"),
    [
        ({}, Appearance()),
        ({"hushgate-theme": "dark"}, Appearance(theme=Theme.DARK)),
        ({"hushgate-sidebar": "narrow"}, Appearance(sidebar=Sidebar.NARROW)),
        ({"hushgate-theme": '"><script>', "hushgate-sidebar": "x"}, Appearance()),
    ],
)
def test_a_browser_s_choice_is_read_from_its_cookies(cookies: dict[str, str], expected: Appearance) -> None:
    """Unknown values are the default."""
    assert appearance(cookies) == expected
