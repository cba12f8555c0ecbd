"""The page of one decision in a browser: covers lifted by a key, a list walked by keys, read by everybody."""

from __future__ import annotations

import psycopg
import pytest
from playwright.sync_api import expect

from tests.support.browser.axe import THEMES, faults, show_theme
from tests.support.browser.desk import Desk, picture

ENDINGS = (
    "MODERATION_FLAGGED",
    "REPLY_FLAGGED_RULE",
    "FALLBACK_SENT",
    "LLM_ERROR",
    "NO_EVIDENCE",
    "HELD_UNREAD",
    "PARTIAL_REPLY",
)


@pytest.fixture
def careful(desk: Desk) -> Desk:
    """The desk, where Carl wants violence covered."""
    with psycopg.connect(desk.world.url, autocommit=True) as connection:
        connection.execute(
            "UPDATE people SET covered = '{violence}' WHERE id = %s",
            (desk.world.people["covered"].person_id,),
        )
    return desk


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_kind_of_decision_can_be_read_by_everybody(desk: Desk, ending: str) -> None:
    """Marks, bars, tables and the panel, in light and in dark."""
    page, found = desk.resident("everything"), {}
    page.goto(f"/decisions/{desk.world.endings[ending]}")
    for theme, rules in THEMES.items():
        show_theme(page, theme)
        picture(page, f"decision-{ending.lower()}-{theme}")
        found[theme] = faults(page, *rules)

    assert found == {"light": [], "dark": []}


def test_a_cover_is_lifted_by_a_key_and_nothing_typed_is_lost(careful: Desk) -> None:
    """The texts take the cover's place; a note that was begun stands where it stood."""
    page = careful.sit("covered")
    page.goto(f"/decisions/{careful.world.endings['MODERATION_FLAGGED']}")
    page.locator("#note").fill("looks like a joke")
    page.locator("h1").click()
    covered = page.content()
    picture(page, "decision-covered")
    found = faults(page)
    page.keyboard.press("r")
    expect(page.get_by_text("I will kill you")).to_be_visible()

    assert "kill" not in covered
    assert found == []
    assert page.locator("#note").input_value() == "looks like a joke"
    assert page.evaluate("document.activeElement.id") == "content"


def test_a_list_is_walked_by_keys(desk: Desk) -> None:
    """From one decision to the older one and back, the list's filters along."""
    page = desk.resident("everything")
    page.goto("/decisions?account=corner-shop")
    page.locator("[data-open]").first.click()
    expect(page.locator("[data-next]")).to_be_visible()
    page.wait_for_load_state()
    first = page.url
    page.keyboard.press("j")
    expect(page.locator("[data-prev]")).to_be_visible()
    page.wait_for_load_state()
    second = page.url
    page.keyboard.press("k")
    expect(page).to_have_url(first)

    assert second != first
    assert "from=account%3Dcorner-shop" in second


def test_a_sentence_and_its_quote_lead_to_each_other_by_keyboard(desk: Desk) -> None:
    """A link with the focus shows its target, there and back."""
    page = desk.resident("everything")
    page.goto(f"/decisions/{desk.world.endings['PARTIAL_REPLY']}")
    page.locator('#reading ~ ol a[href="#quote-1-1"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator("mark#quote-1-1:target")).to_be_in_viewport()
    picture(page, "decision-quote")
    page.locator('.to-sentence[href="#sentence-1"]').first.focus()
    page.keyboard.press("Enter")

    expect(page.locator("#sentence-1:target")).to_be_in_viewport()


def test_a_reading_is_complete_without_javascript(desk: Desk) -> None:
    """Its links are the page's own, and their targets are there."""
    page = desk.resident("everything", java_script_enabled=False)
    page.goto(f"/decisions/{desk.world.endings['PARTIAL_REPLY']}")
    page.locator('a[href="#quote-1-1"]').click()

    expect(page.locator("mark#quote-1-1:target")).to_be_in_viewport()
