"""Pages in another language fit the screen, and times follow the browser's zone."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from review.languages.choice import LANGUAGE_COOKIE
from review.languages.pseudo_locale import PSEUDO
from tests.support.browser.desk import PHONE, Desk, picture
from tests.support.browser.world import SHOP
from tests.support.visible_text import english_words, shown_texts

BESIDE: Final = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
SIZES: Final[tuple[ViewportSize, ...]] = (
    {"width": 1440, "height": 900},
    {"width": 1200, "height": 800},
    {"width": PHONE["width"], "height": PHONE["height"]},
)
CUT: Final = """
    () => [...document.querySelectorAll("main :is(button, .button, h1, h2, .badge), .user-menu button")]
        .filter((each) => each.getClientRects().length && getComputedStyle(each).overflowX === "hidden")
        .filter((each) => each.clientWidth > 4 && each.scrollWidth > each.clientWidth + 1)
        .map((each) => each.innerText)
"""
"""Texts that do not fit their element and are cut off."""


@pytest.mark.parametrize("path", ["/profile", "/people"])
def test_longer_texts_fit_every_screen(desk: Desk, path: str) -> None:
    """In the pseudo-locale, 40 % longer, nothing lies beyond the edge or is cut off."""
    found = {}
    page = desk.sit("everything")
    _in_language(desk, page, PSEUDO)
    page.goto(path)
    for size in SIZES:
        page.set_viewport_size(size)
        picture(page, f"pseudo{path.replace('/', '-')}-{size['width']}")
        found[size["width"]] = (max(0, page.evaluate(BESIDE)), page.evaluate(CUT))

    assert found == {size["width"]: (0, []) for size in SIZES}


VIETNAMESE: Final = (
    "/",
    "/decisions",
    "/escalations",
    "/queues",
    "/dashboard",
    "/profile",
    "/accounts",
    f"/accounts/{SHOP}/home",
    f"/accounts/{SHOP}/settings",
    f"/accounts/{SHOP}/documents",
    f"/accounts/{SHOP}/learn",
    f"/accounts/{SHOP}/webhooks",
)
MENUS: Final = "main details.menu"
OUTSIDE: Final = """
    () => [...document.querySelectorAll("main details.menu[open] > *, .rulings .choice > *")]
        .filter((each) => each.getClientRects().length)
        .map((each) => [each, (each.closest(".choice") ?? document.documentElement).getBoundingClientRect()])
        .filter(([each, box]) => each.getBoundingClientRect().right > box.right + 1
                              || each.getBoundingClientRect().left < box.left - 1)
        .map(([each]) => each.innerText.slice(0, 40))
"""
"""Opened menus beyond the edge of the window, and words beyond the edge of their button."""


@pytest.mark.parametrize("path", [*VIETNAMESE, "decision"])
def test_vietnamese_pages_fit_every_screen(desk: Desk, path: str) -> None:
    """At three sizes in dark mode, also with each menu open, nothing lies beyond the edge or is cut off."""
    found = {}
    page = desk.resident("everything", locale="vi-VN", color_scheme="dark")
    page.goto(f"/decisions/{desk.world.decision(SHOP, 'REPLIED')}" if path == "decision" else path)
    for size in SIZES:
        page.set_viewport_size(size)
        faults = [*page.evaluate(CUT), *page.evaluate(OUTSIDE)]
        for menu in page.locator(MENUS).all():
            menu.evaluate("(each) => { each.open = true; }")
            faults += page.evaluate(OUTSIDE)
            menu.evaluate("(each) => { each.open = false; }")
        found[size["width"]] = (max(0, page.evaluate(BESIDE)), faults)

    assert page.locator("html").get_attribute("lang") == "vi"
    assert found == {size["width"]: (0, []) for size in SIZES}


def test_times_are_in_the_zone_of_the_browser(desk: Desk) -> None:
    """The second page shows them: the first one tells the server the zone."""
    page = desk.sit("everything", timezone_id="Asia/Ho_Chi_Minh", locale="vi-VN")
    page.goto("/profile")
    page.goto("/profile")

    assert page.locator("html").get_attribute("lang") == "vi"
    assert "UTC+7" in (page.locator("main time").first.get_attribute("title") or "")


def test_the_language_is_switched_in_the_user_menu(desk: Desk) -> None:
    """It returns to the same page, and the choice stays with the person."""
    page = desk.sit("account_admin")
    page.goto("/people")
    page.locator(".user-button").click()
    page.locator("#user-menu button[value=vi]").click()

    assert page.url.endswith("/people")
    assert page.locator("h1").inner_text() == "Thành viên"

    page.locator(".user-button").click()
    page.locator("#user-menu button[value=en]").click()

    assert page.locator("h1").inner_text() == "People"


def _in_language(desk: Desk, page: Page, language: str) -> None:
    page.context.add_cookies([{"name": LANGUAGE_COOKIE, "value": language, "url": desk.origin}])


@pytest.mark.parametrize("path", ["/decisions", "/dashboard", "decision", f"/accounts/{SHOP}/rules"])
def test_texts_that_scripts_write_are_in_the_catalogues(desk: Desk, path: str) -> None:
    """The help and the values of a plot."""
    page = desk.sit("everything")
    _in_language(desk, page, PSEUDO)
    page.goto(f"/decisions/{desk.world.decision(SHOP, 'REPLIED')}" if path == "decision" else path)
    written = []
    page.keyboard.press("?")
    expect(page.locator("dialog.keys-help")).to_be_visible()
    written.append(page.locator("dialog.keys-help").evaluate("(each) => each.outerHTML"))
    page.keyboard.press("Escape")
    for plot in page.locator("figure [tabindex]").all()[:3]:
        plot.focus()
        page.keyboard.press("ArrowRight")
    written += page.locator("figure").evaluate_all("(each) => each.map((one) => one.outerHTML)")

    assert english_words(text for html in written for text in shown_texts(html)) == set()
