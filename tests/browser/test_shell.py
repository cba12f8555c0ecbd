"""Navigation, theme and command palette at three sizes, in light and dark, with and without scripts."""

from __future__ import annotations

from typing import Final, Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_every_page import BESIDE
from tests.support.browser.axe import THEMES, faults, show_theme
from tests.support.browser.desk import Desk, picture, sign_in
from tests.support.browser.world import SHOP

SIZES: Final[dict[str, dict[str, int]]] = {
    "wide": {"width": 1440, "height": 900},
    "tablet": {"width": 900, "height": 800},
    "phone": {"width": 390, "height": 844},
}
SCHEMES: Final[dict[str, tuple[Literal["light", "dark"], ...]]] = {
    "wide": ("light", "dark"),
    "tablet": ("light",),
    "phone": ("dark",),
}
ABOVE: Final = {"wide": 56, "tablet": 56, "phone": 48}
"""Most pixels above the content of a page."""
TOP: Final = "document.querySelector('main h1').getBoundingClientRect().top"


@pytest.mark.parametrize("size", SIZES)
def test_every_state_of_the_frame_can_be_read(desk: Desk, size: str) -> None:
    """User menu, rest of the navigation and palette, in light and dark; axe-core finds nothing serious."""
    page = desk.sit("everything", viewport=SIZES[size])
    page.goto("/accounts")
    above = page.evaluate(TOP)
    page.locator(".user-button").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    found = _read(page, "user-menu", size)
    page.keyboard.press("Escape")
    if size != "wide":
        page.get_by_role("button", name="More").click()
        expect(page.get_by_role("link", name="Access log")).to_be_visible()
        found += _read(page, "more", size)
        page.keyboard.press("Escape")
    _palette(page, "shop")
    found += _read(page, "palette", size)

    assert found == []
    assert above <= ABOVE[size]
    assert page.evaluate(BESIDE) <= 0


def _read(page: Page, name: str, size: str) -> list[str]:
    found = []
    for number, theme in enumerate(SCHEMES[size]):
        show_theme(page, theme)
        picture(page, f"{name}-{size}-{theme}")
        rules = THEMES[theme] if number else ()
        found += [f"{name} {size} {theme}: {fault}" for fault in faults(page, *rules)]
    return found


def _palette(page: Page, query: str) -> None:
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search or go to")).to_be_focused()
    page.keyboard.type(query)
    expect(page.locator(f"#palette-list[data-query='{query}']")).to_be_visible()


def test_the_bar_of_a_phone_has_five_entries(desk: Desk) -> None:
    """Four pages and More, each as wide as a thumb."""
    page = desk.sit("everything", viewport=SIZES["phone"])
    page.goto("/queues")
    boxes = [each.bounding_box() for each in page.locator("nav > div:not([popover]) a, .nav-more").all()]

    assert len(boxes) == 5
    assert all(box is not None and box["width"] >= 44 and box["height"] >= 44 for box in boxes)
    expect(page.get_by_role("link", name="Queues")).to_have_attribute("aria-current", "page")


def test_the_palette_goes_to_a_page_by_keyboard(desk: Desk) -> None:
    """Ctrl+K also while writing; arrows choose what a screen reader hears; Escape returns to the field."""
    page = desk.sit("everything")
    page.goto(f"/accounts/{SHOP}/rules")
    text = page.locator("textarea[name=text]")
    text.focus()
    _palette(page, "log")
    field = page.get_by_role("combobox", name="Search or go to")
    first = field.get_attribute("aria-activedescendant")
    page.keyboard.press("ArrowDown")
    second = field.get_attribute("aria-activedescendant")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(text).to_be_focused()
    _palette(page, "access log")
    page.keyboard.press("Enter")
    page.wait_for_url("**/access-log")

    assert first is not None
    assert first != second


def test_the_palette_does_an_action_of_the_page(desk: Desk) -> None:
    """An element that declares a key is an action; its key stands beside it, in the help too."""
    page = desk.sit("second reviewer")
    page.goto(f"/decisions/{desk.world.decision(SHOP, 'REPLIED')}")
    _palette(page, "unsu")
    expect(page.get_by_role("option", name="Unsure")).to_contain_text("3")
    page.keyboard.press("Enter")
    expect(page.get_by_role("radio", name="Unsure")).to_be_checked()
    page.locator("h1").click()
    page.keyboard.press("?")
    help_rows = page.get_by_role("dialog", name="Shortcuts").locator("dl")
    expect(help_rows).to_contain_text("Unsure")
    expect(help_rows).to_contain_text("g d")


def test_enter_before_the_results_waits_for_them(desk: Desk) -> None:
    """A quick typist goes where the words say, not where the last results were."""
    page = desk.sit("everything")
    page.goto("/queues")
    page.keyboard.press("Control+k")
    page.keyboard.type("dashboard")
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard")


def test_a_theme_is_chosen_and_stays_without_scripts(desk: Desk) -> None:
    """Menu, theme, sidebar and search are forms and links; the choice holds against the system's."""
    page = desk.stranger(java_script_enabled=False, viewport=SIZES["wide"])
    sign_in(page, desk.world.people["viewer"])
    page.goto("/decisions")
    page.locator(".user-button").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_url("**/decisions")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Narrow the navigation").click()
    narrow = page.locator(".top").bounding_box()
    page.get_by_role("link", name="Search or go to").click()
    page.get_by_role("searchbox").fill("dashb")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_role("main").get_by_role("link", name="Dashboard").click()
    page.wait_for_url("**/dashboard")

    assert dark == "rgb(17, 22, 26)"
    assert narrow is not None
    assert narrow["width"] < 80
