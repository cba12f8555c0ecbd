"""The rules of an account, as they are typed."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.browser.desk import Desk
from tests.support.browser.world import SHOP


def test_a_mistake_is_named_while_it_is_typed(desk: Desk) -> None:
    """With the line and what is wrong; nothing is stored by that."""
    page = desk.resident("rule_editor")
    page.goto(f"/accounts/{SHOP}/rules")
    words = page.locator("textarea[name=flagged_keywords]")
    words.fill(words.input_value() + "\n/(unclosed/")

    expect(page.locator("#remarks")).to_contain_text("saving is blocked until it is fixed")
    expect(page.locator("#remarks")).to_contain_text("/(unclosed/")
    expect(page.locator("#remarks")).to_be_in_viewport()


def test_a_remark_leads_to_its_line(desk: Desk) -> None:
    """It is selected in its box, so that nobody counts lines."""
    page = desk.resident("rule_editor")
    page.goto(f"/accounts/{SHOP}/rules")
    words = page.locator("textarea[name=flagged_keywords]")
    words.fill("one\n/(unclosed/\nthree")
    page.locator("#remarks").get_by_role("link", name="Keywords, line 2").click()
    chosen = "box => box.value.slice(box.selectionStart, box.selectionEnd)"

    expect(words).to_be_focused()
    assert words.evaluate(chosen) == "/(unclosed/"


def test_the_test_box_shows_what_matches_where_and_how(desk: Desk) -> None:
    """A disguised word, by the rule that is being typed."""
    page = desk.resident("rule_editor")
    page.goto(f"/accounts/{SHOP}/rules")
    page.locator("textarea[name=text]").fill("Do you sell v.i.a.g.r.a here?")

    expect(page.locator("#hits mark")).to_contain_text("v.i.a.g.r.a")
    expect(page.locator("#hits")).to_contain_text("characters 13 to 23")
