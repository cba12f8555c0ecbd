"""The shell in a browser: navigation, help and theme at three sizes, with and without scripts."""

from __future__ import annotations

from typing import Final, Literal

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.test_every_page import BESIDE
from tests.support.browser.axe import THEMES, faults, show_theme
from tests.support.browser.desk import Desk, picture, sign_in
from tests.support.browser.world import CHANNEL, SHOP

SIZES: Final[dict[str, ViewportSize]] = {
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
    """User menu and rest of the navigation, in light and dark; axe-core finds nothing serious."""
    page = desk.resident("everything", viewport=SIZES[size])
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


def test_the_bar_of_a_phone_has_five_entries(desk: Desk) -> None:
    """Four pages and More, each as wide as a thumb."""
    page = desk.resident("everything", viewport=SIZES["phone"])
    page.goto("/queues")
    boxes = [each.bounding_box() for each in page.locator("nav > div:not([popover]) a, .nav-more").all()]

    assert len(boxes) == 5
    assert all(box is not None and box["width"] >= 44 and box["height"] >= 44 for box in boxes)
    expect(page.get_by_role("link", name="Queues")).to_have_attribute("aria-current", "page")


def test_the_help_lists_the_actions_of_the_page(desk: Desk) -> None:
    """An element that declares a key is an action; pages of the navigation have keys too."""
    page = desk.resident("second reviewer")
    page.goto(f"/decisions/{desk.world.decision(SHOP, 'REPLIED')}")
    page.locator("h1").click()
    page.keyboard.press("?")
    help_rows = page.get_by_role("dialog", name="Shortcuts").locator("dl")
    expect(help_rows).to_contain_text("Unsure")
    expect(help_rows).to_contain_text("g d")
    expect(help_rows.get_by_text("Queues", exact=True)).to_be_visible()


def test_a_theme_is_chosen_and_stays_without_scripts(desk: Desk) -> None:
    """Menu, theme and sidebar are forms and links; the choice holds against the system's."""
    page = desk.stranger(java_script_enabled=False, viewport=SIZES["wide"])
    sign_in(page, desk.world.people["viewer"])
    page.goto("/decisions")
    page.locator(".user-button").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_url("**/decisions")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Narrow the navigation").click()
    narrow = page.locator(".top").bounding_box()

    assert dark == "rgb(17, 22, 26)"
    assert narrow is not None
    assert narrow["width"] < 80


def test_everything_works_without_scripts(desk: Desk) -> None:
    """Sign in, filter, open, review, undo."""
    page = desk.stranger(java_script_enabled=False)
    sign_in(page, desk.world.people["reviewer"])
    page.goto("/decisions")
    page.locator("summary", has_text="Filters").click()
    page.get_by_role("textbox", name="Account", exact=True).fill(CHANNEL)
    page.locator("summary", has_text="Reasons").click()
    page.get_by_label("Rule matched the message").check()
    page.get_by_role("button", name="Filter", exact=True).click()
    page.locator("[data-open]").nth(3).click()
    page.get_by_role("radio", name="Agree").check()
    page.get_by_role("button", name="Store review").click()
    expect(page.locator("[data-undo]")).to_contain_text("Stored: agree")
    page.get_by_role("button", name="Undo").click()

    expect(page.locator("[data-reviews]")).to_contain_text("withdrew a review")


@pytest.mark.parametrize("path", ["/decisions", "/queues", "/accounts/corner-shop/rules"])
def test_a_page_enlarged_to_200_percent_is_not_cut_off(desk: Desk, path: str) -> None:
    """A screen of 1280 pixels at 200 % is one of 640."""
    page = desk.resident("everything", viewport={"width": 640, "height": 450}, device_scale_factor=2)
    page.goto(path)

    assert page.evaluate(BESIDE) <= 0


def test_axe_sees_a_fault_and_leaves_the_page_alone(desk: Desk) -> None:
    """A picture without words is found; the page's own scripts see no axe."""
    page = desk.stranger()
    page.goto("/sign-in")
    page.evaluate("document.querySelector('main').append(new Image())")

    assert [line.split(":")[0] for line in faults(page)] == ["critical image-alt"]
    assert page.evaluate("typeof window.axe") == "undefined"


def test_what_breaks_the_policy_is_noticed(desk: Desk) -> None:
    """An inline script does not run, and its report is a fault of the test."""
    page = desk.stranger()
    page.goto("/sign-in")
    with page.expect_request("**/csp-report"):
        page.evaluate(
            "() => { const one = document.createElement('script'); one.textContent = 'document.title = 1';"
            " document.body.append(one) }"
        )
    title, found = page.title(), desk.faults()

    assert title == "Sign in · Hushgate"
    assert any("content security policy broken" in line for line in found)


def test_a_request_to_elsewhere_is_noticed(desk: Desk) -> None:
    """Even one that the policy would let through."""
    page = desk.stranger()
    page.goto("/sign-in")
    with page.expect_event("requestfailed"):
        page.evaluate("() => { location = 'http://elsewhere.example/' }")

    assert any("elsewhere.example" in line for line in desk.faults())
