"""A reviewer's work without a mouse, and keys that leave people alone who type."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.support.browser.desk import Desk
from tests.support.browser.keyboard import tab_to, type_at
from tests.support.browser.world import SHOP
from tests.support.reviewing import PASSWORD


def test_a_reviewer_signs_in_filters_opens_overturns_and_restores_by_keyboard(desk: Desk) -> None:
    """From the sign-in page to the restored exchange and back by undo, no mouse is touched."""
    page = desk.stranger()
    keys = page.keyboard
    page.goto("/sign-in")
    type_at(page, page.get_by_label("Login"), desk.world.people["reviewer"].login)
    type_at(page, page.get_by_label("Password"), PASSWORD)
    keys.press("Enter")
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    page.wait_for_load_state()
    keys.press("g")
    keys.press("d")
    expect(page.get_by_role("heading", name="Decisions")).to_be_visible()
    page.wait_for_load_state()
    keys.press("/")
    expect(page.locator("[data-search]")).to_be_focused()
    keys.type("kill you if this is late")
    keys.press("Enter")
    expect(page.locator("#count")).to_have_text("1 decision")
    page.wait_for_load_state()
    keys.press("j")
    keys.press("o")
    expect(page.get_by_role("heading", level=1)).to_contain_text("the moderation model found violence")
    page.wait_for_load_state()
    _overturn(page, "MODERATION_TOO_STRICT", "A figure of speech.")
    expect(page.locator("[data-undo]")).to_contain_text(
        "Stored: overturn on this decision, exchange restored"
    )
    expect(page.locator("#content")).to_contain_text("it has since been restored")
    keys.press("u")
    expect(page.locator("[data-reviews]")).to_contain_text("withdrew a review")
    expect(page.locator("#content")).to_contain_text("is sealed until")


def _overturn(page: Page, reason: str, note: str) -> None:
    keys = page.keyboard
    keys.press("2")
    tab_to(page, page.locator("input[name=reason]").first)
    while page.evaluate("document.activeElement.value") != reason:
        keys.press("ArrowDown")
    restore = page.locator("input[value=restore], input[value=restore_message]").first
    tab_to(page, page.locator("input[name=remedy]:checked"))
    keys.press("ArrowDown")
    expect(restore).to_be_checked()
    tab_to(page, page.locator("#note"))
    keys.type(note)
    keys.press("Control+Enter")


def test_keys_rest_while_somebody_types(desk: Desk) -> None:
    """Digits and letters in a note are a note."""
    page = _decision(desk)
    page.keyboard.press("n")
    expect(page.locator("#note")).to_be_focused()
    page.keyboard.type("1 2 3 j k / ? gd")

    expect(page.locator("#note")).to_have_value("1 2 3 j k / ? gd")
    expect(page.locator("input[name=ruling]:checked")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)


def _decision(desk: Desk) -> Page:
    page = desk.sit("second reviewer")
    page.goto(f"/decisions/{desk.world.decision(SHOP, 'REPLIED')}")
    return page
