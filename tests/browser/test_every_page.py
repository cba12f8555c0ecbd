"""What holds on every page: nobody is shut out by how they see, read or hold their screen."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page, ViewportSize

from review.http.page_routes import PageRoute as Route
from tests.support.browser.addresses import OPENED, SAMPLES, address, parameters
from tests.support.browser.axe import THEMES, faults, show_theme
from tests.support.browser.desk import PHONE, Desk, picture

EVERYBODY: Final = "everything"
COVER: Final = 'class="cover"'
"""What the page has where a text is covered, see the template of texts."""
BESIDE: Final = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
"""Pixels of a page that lie beyond the right edge of the screen."""
LAPTOP: Final[ViewportSize] = {"width": 1185, "height": 800}
"""A window of 1200 pixels beside its scroll bar, which a headless browser does not draw."""
CLIPPED: Final = """
    () => [...document.querySelectorAll("main .scroll")]
        .filter((box) => box.scrollWidth > box.clientWidth)
        .map((box) => [box.innerText.slice(0, 60), box.scrollWidth - box.clientWidth])
"""
"""Tables of a page of which a part lies beyond the right edge, with the pixels of that part."""
LONG_NAMES: Final = """
    () => {
        const word = "x".repeat(200);
        for (const each of document.querySelectorAll("main :is(h1, h2, h3)")) each.textContent = word;
    }
"""
"""Names of accounts, people and topics are in headings, and may be one word."""
NARROW: Final = """
    () => [...document.querySelectorAll("main tbody :is(td, th)")]
        .filter((cell) => cell.clientWidth && cell.clientWidth < 64 && cell.innerText.trim().length > 16)
        .map((cell) => [cell.innerText.slice(0, 60), cell.clientWidth])
"""
"""Cells of tables in which a word has no room, with their pixels."""
SQUEEZED: Final = """
    () => {
        for (const part of document.querySelectorAll("main details")) part.open = true;
        return [...document.querySelectorAll("main input:is([type=text], :not([type]))")]
            .filter((field) => field.clientWidth && field.clientWidth < 64)
            .map((field) => [field.name, field.clientWidth]);
    }
"""
"""Fields of a text in which the text has no room, with their pixels; unfolds the page."""


def test_every_parameter_has_a_sample() -> None:
    """A new route is walked too, or says here why it cannot be."""
    missing = {name for page in OPENED for name in parameters(page)} - set(SAMPLES)

    assert missing == set()


@pytest.mark.parametrize("route", OPENED, ids=lambda route: route.name)
def test_a_page_can_be_read_by_everybody(desk: Desk, route: Route) -> None:
    """axe-core finds nothing serious in light, in dark and covered; all fits a phone and a laptop."""
    page = _reader(desk, route)
    path = address(desk, route, EVERYBODY)
    if not _is_page(page, path):
        return
    page.goto(path)
    found = {}
    for theme, rules in THEMES.items():
        show_theme(page, theme)
        picture(page, f"{route.name}-{theme}")
        found[str(theme)] = faults(page, *rules)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(LAPTOP)
    clipped = page.evaluate(CLIPPED)
    page.set_viewport_size(PHONE)
    picture(page, f"{route.name}-phone")
    headings = page.get_by_role("heading", level=1).count()
    beside, narrow = page.evaluate(BESIDE), page.evaluate(NARROW)
    squeezed = page.evaluate(SQUEEZED)
    page.evaluate(LONG_NAMES)
    with_long_names = page.evaluate(BESIDE)
    found["covered"] = _covered_faults(desk, route)

    assert found == {"light": [], "dark": [], "covered": []}
    assert clipped == []
    assert beside <= 0
    assert narrow == []
    assert squeezed == []
    assert with_long_names <= 0
    assert headings == 1


@pytest.mark.parametrize("path", ["/dashboard", "/agreement"])
def test_what_a_plot_shows_stands_in_a_table_too(desk: Desk, path: str) -> None:
    """For whoever cannot see it, and for whoever wants the numbers."""
    page = desk.resident(EVERYBODY)
    page.goto(path)

    assert page.locator("main table").count() > 0
    assert (
        page.locator("main figure")
        .filter(has=page.locator("svg"))
        .filter(has_not=page.locator("table"))
        .count()
        == 0
    )


def _covered_faults(desk: Desk, route: Route) -> list[str]:
    """The faults of the page with covers; without any, it is the page without covers."""
    path = address(desk, route, "covered")
    if path.startswith("/sign-in"):
        return []
    reader = desk.resident("covered")
    if COVER not in reader.context.request.get(path).text():
        return []
    reader.goto(path)
    picture(reader, f"{route.name}-covered")
    return faults(reader)


def _reader(desk: Desk, route: Route) -> Page:
    return desk.stranger() if route.path.startswith("/sign-in") else desk.resident(EVERYBODY)


def _is_page(page: Page, path: str) -> bool:
    """Whether it is a whole page for people: not a file, not a piece of a page, not a word for machines."""
    answer = page.context.request.get(path)
    assert answer.status == 200, (path, answer.status)
    is_file = "attachment" in answer.headers.get("content-disposition", "")
    return not is_file and "text/html" in answer.headers["content-type"] and "<h1" in answer.text()
