"""How much of the list of decisions is seen at once, and reading beside it."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.axe import faults
from tests.support.browser.desk import Desk, Scheme, picture

FULLY_VISIBLE = """() => [...document.querySelectorAll('#rows [data-row]')].filter((row) => {
  const box = row.getBoundingClientRect();
  const bar = document.querySelector('.nav')?.getBoundingClientRect();
  const end = bar && bar.top > innerHeight / 2 ? bar.top : innerHeight;
  return box.top >= 0 && box.bottom <= end;
}).length"""


def opened(desk: Desk, width: int, height: int, scheme: Scheme = "light") -> Page:
    """The list of all decisions in a window of this size."""
    page = desk.resident("lead", viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto("/decisions?since=all")
    return page


@pytest.mark.parametrize(
    ("width", "height", "least", "scheme"),
    [(1440, 900, 18, "light"), (1200, 800, 12, "dark"), (390, 844, 5, "dark")],
)
def test_many_rows_are_seen_without_scrolling(
    desk: Desk, width: int, height: int, least: int, scheme: Scheme
) -> None:
    """As many as a reviewer can compare at a glance, and nothing wider than the window."""
    page = opened(desk, width, height, scheme)
    picture(page, f"list-{width}-{scheme}")

    assert page.evaluate(FULLY_VISIBLE) >= least
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page) == []


def test_decisions_are_read_beside_the_list(desk: Desk) -> None:
    """J moves, the pane shows the decision, and the address stays that of the list."""
    page = opened(desk, 1440, 900)
    page.keyboard.press("p")
    pane = page.locator("#preview")
    expect(pane.locator("h1")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    wanted = page.locator("[data-row][aria-current=true] [data-open]").get_attribute("href")
    assert wanted is not None
    decision_id = urlsplit(wanted).path.rpartition("/")[2]
    expect(pane.locator(f'a[href$="/{decision_id}/similar"]')).to_be_attached()
    picture(page, "list-preview")

    assert page.url.endswith("/decisions?since=all")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("p")
    expect(pane).to_be_hidden()
    page.keyboard.press("o")
    page.wait_for_url(f"**{wanted.partition('?')[0]}*")


def test_a_preview_that_failed_is_loaded_again(desk: Desk) -> None:
    """Opening the pane again asks again, for the same decision."""
    page = opened(desk, 1440, 900)
    wanted = page.locator("[data-row] [data-open]").first.get_attribute("href")
    assert wanted is not None
    path, pane = wanted.partition("?")[0], page.locator("#preview")
    desk.expect(503)
    page.route(f"**{path}*", lambda route: route.fulfill(status=503), times=1)
    with page.expect_response(f"**{path}*"):
        page.keyboard.press("p")
    expect(pane).to_be_empty()
    page.keyboard.press("p")
    page.keyboard.press("p")

    expect(pane.locator("h1")).to_be_visible()
