"""Old, small and enlarged screens, and browsers that run no script."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.test_every_page import BESIDE
from tests.support.browser.desk import Desk, sign_in
from tests.support.browser.world import CHANNEL


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
    page.get_by_role("button", name="Store").click()
    expect(page.locator("[data-undo]")).to_contain_text("Stored: agree")
    page.get_by_role("button", name="Undo").click()

    expect(page.locator("[data-reviews]")).to_contain_text("withdrew a review")


@pytest.mark.parametrize("path", ["/decisions", "/queues", "/accounts/corner-shop/rules"])
def test_a_page_enlarged_to_200_percent_is_not_cut_off(desk: Desk, path: str) -> None:
    """A screen of 1280 pixels at 200 % is one of 640."""
    page = desk.resident("everything", viewport={"width": 640, "height": 450}, device_scale_factor=2)
    page.goto(path)

    assert page.evaluate(BESIDE) <= 0
