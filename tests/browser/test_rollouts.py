"""A rollout in a browser: from the candidate to its result, by keyboard, in both schemes and on a phone."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import expect

from tests.support.browser.addresses import shop_candidate
from tests.support.browser.axe import faults, show_theme
from tests.support.browser.desk import PHONE, Desk, picture
from tests.support.browser.world import SHOP

EVERYBODY: Final = "everything"
BESIDE: Final = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


def test_a_lead_starts_a_rollout_and_returns_it(desk: Desk) -> None:
    """Preset, reason, result, return: each page is readable in both schemes, and fits a phone."""
    found = {}
    shop_candidate(desk)
    page = desk.sit(EVERYBODY)
    page.goto(f"/accounts/{SHOP}/learn")
    found["learn"] = faults(page)
    picture(page, "learn-candidates")
    page.get_by_role("link", name="Start a rollout").first.click()
    page.get_by_role("link", name="Careful").click()
    expect(page.get_by_label("Share of the conversations, percent")).to_have_value("5")
    found["form"] = faults(page)
    picture(page, "rollout-start")
    page.get_by_label("Reason", exact=True).fill("Casino advertisements were answered.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("The rollout has started.")
    expect(page.get_by_role("heading", name="Result: Overturned by reviewers")).to_be_visible()
    found["light"] = faults(page)
    picture(page, "rollout-running")
    show_theme(page, "dark")
    found["dark"] = faults(page)
    picture(page, "rollout-running-dark")
    show_theme(page, "light")
    page.set_viewport_size(PHONE)
    beside = page.evaluate(BESIDE)
    picture(page, "rollout-running-phone")
    last = page.locator("form").filter(has=page.get_by_role("button", name="Return", exact=True))
    last.get_by_label("Reason").fill("Only a test.")
    last.get_by_role("button", name="Return", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("decide every conversation again")
    expect(page.get_by_text("Next step")).to_have_count(0)

    assert found == {"learn": [], "form": [], "light": [], "dark": []}
    assert beside <= 0
