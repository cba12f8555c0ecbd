"""A golden set in a browser: made on the page Learn, filled from a decision, read in both schemes."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import expect

from tests.support.browser.addresses import shop_golden_set
from tests.support.browser.axe import faults, show_theme
from tests.support.browser.desk import PHONE, Desk, picture
from tests.support.browser.world import SHOP

EVERYBODY: Final = "everything"
BESIDE: Final = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


def test_a_lead_makes_a_set_and_adds_a_decision(desk: Desk) -> None:
    """By keyboard from the form on; the decision's page offers the set, and the item can be removed."""
    query = "SELECT id FROM ai_decisions WHERE user_id = %s AND reason_code = 'REPLIED' LIMIT 1"
    decision = (desk.world.running.row(query, SHOP) or {})["id"]
    page = desk.sit(EVERYBODY)
    page.goto(f"/accounts/{SHOP}/learn")
    page.locator("summary", has_text="Create a golden set").press("Enter")
    page.get_by_label("Name of the set").fill("Opening hours")
    page.keyboard.press("Tab")
    page.keyboard.type("Questions that may be answered")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Opening hours")).to_be_visible()
    expect(page.get_by_text("No items yet")).to_be_visible()
    empty = faults(page)
    page.goto(f"/decisions/{decision}")
    page.get_by_text("For leads").click()
    form = page.locator("form").filter(has=page.get_by_label("Add to golden set"))
    form.get_by_label("Add to golden set").select_option("Opening hours")
    form.get_by_label("Label").select_option("May be answered")
    form.get_by_role("button", name="Add").click()
    expect(page.get_by_role("status")).to_contain_text("The items are in the set.")
    expect(page.get_by_text("1 item ·")).to_be_visible()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("status")).to_contain_text("The item is removed.")

    assert empty == []


def test_a_set_with_results_is_readable(desk: Desk) -> None:
    """In both schemes and on a phone; its page and the page Learn have no faults of accessibility."""
    found, set_id = {}, shop_golden_set(desk)
    page = desk.sit(EVERYBODY)
    page.goto(f"/accounts/{SHOP}/learn")
    found["learn"] = faults(page)
    page.goto(f"/accounts/{SHOP}/learn/golden/{set_id}")
    expect(page.get_by_role("cell", name="a model")).to_be_visible()
    found["light"] = faults(page)
    picture(page, "golden-set")
    show_theme(page, "dark")
    found["dark"] = faults(page)
    picture(page, "golden-set-dark")
    show_theme(page, "light")
    page.set_viewport_size(PHONE)
    beside = page.evaluate(BESIDE)
    picture(page, "golden-set-phone")

    assert found == {"learn": [], "light": [], "dark": []}
    assert beside <= 0
