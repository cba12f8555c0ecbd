"""Authors, conversations, comments and assignments in a browser."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests.support.browser.axe import faults
from tests.support.browser.desk import PHONE, Desk, picture
from tests.support.browser.world import SHOP

SIZES: Final[dict[str, dict[str, Any]]] = {
    "wide": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "laptop": {"viewport": {"width": 1200, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light"},
}


@pytest.mark.parametrize("size", SIZES)
def test_people_write_around_a_decision(desk: Desk, size: str) -> None:
    """A note on the author, a comment, the assignment and the inbox; each page is clean."""
    page = desk.resident("everything", **SIZES[size])
    person = desk.world.people["everything"]
    page.goto(f"/decisions/{desk.world.decision(SHOP, 'FLAGGED_RULE')}")
    address = page.url
    page.locator("#assignment summary").click()
    page.get_by_role("button", name="Assign to me").click()
    expect(page.locator("#assignment summary")).to_contain_text("Assigned to you")
    page.get_by_placeholder("Comment; @login").fill("Is this rule too broad?")
    page.locator("input[name=notify]").fill(person.login)
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator("#comments")).to_contain_text("Is this rule too broad?")
    picture(page, f"comments-{size}")
    found = faults(page)
    page.locator(".thread .here .by a").first.click()
    page.get_by_placeholder("What should colleagues know?").fill("Writes every night.")
    page.get_by_role("button", name="Add the note").click()
    page.get_by_label("New tag").fill(f"night {size}")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("listitem").filter(has_text=f"night {size}")).to_be_visible()
    picture(page, f"author-{size}")
    found += faults(page)
    page.locator(".subject-rows a.muted").first.click()
    expect(page.get_by_role("heading", name="Who may answer")).to_be_visible()
    picture(page, f"conversation-{size}")
    found += faults(page)
    page.goto("/inbox")
    expect(page.locator(f"a[href='{address.removeprefix(desk.origin)}']")).to_be_visible()
    picture(page, f"inbox-{size}")
    found += faults(page)

    scrolls = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    page.goto(address)
    page.locator("#assignment summary").click()
    page.get_by_role("button", name="Assign to no one").click()
    expect(page.locator("#assignment summary")).to_have_text("Assign")

    assert found == []
    assert not scrolls
