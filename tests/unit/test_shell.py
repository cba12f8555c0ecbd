"""Navigation, appearance and the part of the palette that needs no database."""

from __future__ import annotations

import pytest

from db.people.records import Role
from review.access import RIGHTS, Right
from review.shell.appearance import Appearance, Sidebar, Theme, appearance
from review.shell.navigation import IN_BAR, LINKS, navigation
from review.shell.palette import TargetGroup, by_group, searches, targets


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


@pytest.mark.parametrize(
    ("query", "url"),
    [
        ("dash", "/dashboard"),
        ("LOG access", "/access-log"),
        ("tokens", "/profile/tokens"),
        ("no reply", "/decisions?decision=ignore"),
        ("llm_error", "/decisions?reason=LLM_ERROR"),
    ],
)
def test_words_find_pages_and_lists(query: str, url: str) -> None:
    """Every word counts, in any case and order; codes are found too."""
    assert url in [each.url for each in targets(query, _may(*Role).__contains__)]


def test_the_palette_offers_what_a_person_may_open() -> None:
    """A person without a role finds their own pages only."""
    found = targets("o", _may().__contains__)

    assert {each.url for each in found} == {"/profile", "/profile/tokens", "/profile/password"}


def test_an_empty_query_offers_the_navigation() -> None:
    """In its order, with its keys."""
    found = targets("", _may(*Role).__contains__)

    assert [(each.url, each.key) for each in found] == [(link.path, f"g {link.key}") for link in LINKS]


def test_a_text_can_be_searched_whatever_it_is() -> None:
    """The address of the list carries it quoted."""
    assert [each.url for each in searches("a&b=c")] == [
        f"/decisions?since=all&{name}=a%26b%3Dc" for name in ("text", "author", "conversation")
    ]


def test_results_stand_under_headings_in_a_fixed_order() -> None:
    """However they were found."""
    found = (*searches("x"), *targets("dash", _may(*Role).__contains__))

    assert [group for group, _ in by_group(found)] == [TargetGroup.PAGES, TargetGroup.SEARCH]
