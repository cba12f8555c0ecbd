"""A shop owner and an editor of rules in a browser: a rule, a limit and a document, without JSON."""

from __future__ import annotations

import re
from typing import Final

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.support.browser.axe import THEMES, faults, show_theme
from tests.support.browser.desk import PHONE, WIDE, Desk, sign_in
from tests.support.browser.world import SHOP

JSON: Final = re.compile(r"[{\[]\s*(\"|[}\]])")
BESIDE: Final = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
LAPTOP: Final[ViewportSize] = {"width": 1200, "height": 800}
TABLET: Final[ViewportSize] = {"width": 768, "height": 1024}
SHOWN: Final = """
    (main) => [main.innerText,
               ...[...main.querySelectorAll("input, textarea")].map((each) => each.value)].join("\\n")
"""


def without_json(page: Page) -> None:
    """Nothing that a person sees or edits here is JSON."""
    shown = page.locator("main").evaluate(SHOWN)

    assert JSON.search(shown) is None, shown


def test_a_program_is_copied_as_shown(desk: Desk) -> None:
    """The button is for the text before it."""
    page = desk.sit("everything", permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"/accounts/{SHOP}/channels")
    page.get_by_role("button", name="Make a token").click()
    page.locator("details button").first.click()

    expect(page.get_by_role("button", name="Copied")).to_have_count(1)
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("pre").first.text_content()


def test_the_answers_of_a_model_test_stand_apart_from_the_form(desk: Desk) -> None:
    """What each server said is above the form, on a small phone too."""
    page = desk.sit("everything")
    page.goto("/connect")
    page.get_by_role("button", name="Test only").click()
    expect(page.locator(".model-answers")).to_be_visible()
    answers, form = page.locator(".model-answers").bounding_box(), page.locator("main form").bounding_box()
    page.set_viewport_size({"width": 320, "height": 640})
    beside = page.evaluate(BESIDE)

    assert answers is not None
    assert form is not None
    assert form["y"] - answers["y"] - answers["height"] >= 8
    assert beside <= 0


def test_an_empty_limit_stands_nowhere_or_at_the_value_in_force(desk: Desk) -> None:
    """The recommended limit has its number; a limit that is not set has a slider without a thumb."""
    page = desk.resident("shop owner")
    page.goto(f"/accounts/{SHOP}/settings?level=all")
    recommended, approval = (
        page.locator(f"[data-slider='{name}']")
        for name in ("assessment_policy.send_at", "auto_from_confidence")
    )

    expect(recommended).to_have_value("50")
    expect(recommended).to_have_class("unset")
    expect(approval).to_have_class("unset nowhere")
    expect(approval).to_have_attribute("aria-valuetext", "not set")
    approval.focus()
    page.keyboard.press("ArrowRight")
    expect(approval).to_have_class("")
    expect(page.locator("#auto_from_confidence")).to_have_value("51")


def test_the_search_leaves_the_settings_with_its_words(desk: Desk) -> None:
    """By title, help and name; a section without a match is hidden, and no match is said."""
    page = desk.resident("shop owner")
    page.goto(f"/accounts/{SHOP}/settings?level=all")
    page.get_by_label("Find a setting").fill("budget month")
    expect(page.locator("#setting-budget_month_usd")).to_be_visible()
    expect(page.locator("#setting-hold_max_s")).to_be_hidden()
    expect(page.get_by_role("heading", name="Moderation", exact=True)).to_be_hidden()
    page.get_by_label("Find a setting").fill("zebra")

    expect(page.get_by_text("No setting has these words.")).to_be_visible()


@pytest.mark.parametrize("design", ["calibrated", "failsafe"])
def test_all_settings_can_be_read(desk: Desk, design: str) -> None:
    """With every option of a design: nothing serious for axe-core, and nothing beyond the edge of a phone."""
    page = desk.resident("shop owner")
    page.goto(f"/accounts/{SHOP}/settings?level=all")
    page.get_by_label("Confidence policy", exact=True).select_option(design)
    page.get_by_role("button", name="Show its options").click()
    expect(page.get_by_label("What happens to a draft of low confidence.")).to_be_visible()
    page.locator("details").evaluate_all("(found) => found.forEach((each) => { each.open = true })")
    found = faults(page)
    show_theme(page, "dark")
    found += faults(page, *THEMES["dark"])
    page.set_viewport_size(PHONE)
    beside = page.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth")

    assert found == []
    assert beside <= 0


@pytest.mark.parametrize("language", ["en-GB", "vi-VN"])
def test_pages_of_an_account_can_be_read_at_every_size(desk: Desk, language: str) -> None:
    """In light and dark, in two languages: nothing serious for axe-core, and nothing beyond the edge."""
    page, found = desk.resident("everything", locale=language), {}
    for name in ("waiting", "answered", "settings", "automatic", "learn"):
        page.goto(f"/accounts/{SHOP}/{name}")
        show_theme(page, "light")
        for size in (WIDE, LAPTOP, TABLET, PHONE):
            page.set_viewport_size(size)
            place = f"{name} {size['width']}"
            found[place] = [] if page.evaluate(BESIDE) <= 0 else ["beyond the edge"]
            found[place] += faults(page)
        show_theme(page, "dark")
        found[f"{name} dark"] = faults(page, *THEMES["dark"])

    assert {place: wrong for place, wrong in found.items() if wrong} == {}
    assert page.evaluate("document.documentElement.lang") == language[:2]


def test_a_new_account_is_careful_until_a_person_switches(desk: Desk) -> None:
    """From an empty account to automatic answers, after a look at what was drafted."""
    page, account = desk.sit("everything"), "corner-bakery"
    page.goto("/accounts")
    page.get_by_role("textbox", name="Account").fill(account)
    page.get_by_role("button", name="Set up").click()
    expect(page.get_by_role("status")).to_contain_text("nothing is sent until you approve it")
    expect(page.locator("[data-current]").first).to_contain_text("Careful")
    page.get_by_role("navigation", name="Account").get_by_role("link", name="Home").click()
    page.get_by_role("link", name="Switch on automatic answers").first.click()
    expect(page.locator("main")).to_contain_text("No draft of the last 30 days is stored")
    page.get_by_role("button", name="Send answers without approval from now on").click()
    expect(page.get_by_role("status")).to_contain_text("Saved as version 2.")
    page.get_by_role("navigation", name="Account").get_by_role("link", name="Home").click()

    expect(page.locator("main")).not_to_contain_text("Answers wait for your approval.")


def test_a_design_is_chosen_with_what_it_needs(desk: Desk) -> None:
    """By keyboard: the choice shows its changes and needs, and the page names the design afterwards."""
    page, account = desk.sit("everything"), "design-bakery"
    page.goto("/accounts")
    page.get_by_role("textbox", name="Account").fill(account)
    page.keyboard.press("Enter")
    page.locator("summary", has_text="Choose another design").press("Enter")
    page.get_by_role("button", name="See what I don't know (Safety) changes").press("Enter")
    expect(page.locator("main")).to_contain_text("An embedding model on the server")
    found = faults(page)
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    designs = page.get_by_role("region", name="Which design checks the answers?")

    expect(designs.locator("strong").first).to_have_text("I don't know (Safety)")
    assert found == []


def test_a_setting_says_below_it_what_it_would_have_changed(desk: Desk) -> None:
    """On demand, without leaving the form."""
    page = desk.resident("shop owner")
    page.goto(f"/accounts/{SHOP}/settings?level=all")
    page.get_by_label("AI for chats", exact=True).uncheck()
    setting = page.locator("#setting-ai_enabled_for_chats")
    setting.get_by_role("button").click()

    expect(setting).to_contain_text("would stop")
    expect(page.get_by_label("AI for chats", exact=True)).not_to_be_checked()


def test_a_duration_has_the_unit_of_its_number(desk: Desk) -> None:
    """“1 day”, and “2 days” while a person types."""
    page = desk.resident("shop owner")
    page.goto(f"/accounts/{SHOP}/settings?level=all")
    units = page.locator("select[name='hold_max_s.unit']")
    page.locator("#hold_max_s").fill("2")
    expect(units).to_contain_text("days")
    page.locator("#hold_max_s").fill("1")

    expect(units).not_to_contain_text("days")
    expect(units).to_contain_text("day")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_rest_of_an_account_is_behind_more(desk: Desk, size: ViewportSize, scripts: bool) -> None:
    """Five tabs in view; the others are opened and followed by keyboard alone."""
    page = desk.resident("shop owner", viewport=size, java_script_enabled=scripts)
    page.goto("/")
    tabs = page.get_by_role("navigation", name="Account")
    shown = [each for each in tabs.get_by_role("link").all_inner_texts() if each]
    tabs.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(tabs.get_by_role("link", name="Limits")).to_be_in_viewport(ratio=1)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert shown == ["Home", "Conversations", "Knowledge", "Rules", "Settings"]
    expect(page.get_by_role("heading", name="Limits and budgets")).to_be_visible()
    expect(tabs.locator("summary")).to_have_text("More: Limits")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_owner_changes_a_rule_a_limit_and_a_document_without_json(desk: Desk, scripts: bool) -> None:
    """From the home, with and without scripts; each change is shown before it is stored."""
    word = "zzlampoon" if scripts else "zzpontoon"
    page = desk.stranger(java_script_enabled=scripts)
    sign_in(page, desk.world.people["shop owner"])
    expect(page.get_by_role("heading", name="Answered in your name")).to_be_visible()
    if scripts:
        without_json(page)

    page.get_by_role("navigation", name="Account").get_by_role("link", name="Rules").click()
    page.get_by_label("Stop messages with this word or phrase").fill(word)
    page.get_by_role("button", name="See what it would have stopped").click()
    expect(page.locator("main")).to_contain_text("It would have stopped 0 of the last")
    if scripts:
        without_json(page)
    page.get_by_role("button", name="Stop these messages from now on").click()
    expect(page.locator("main")).to_contain_text("Saved as version")

    page.get_by_role("navigation", name="Account").get_by_role("link", name="Settings").click()
    limit = "71" if scripts else "72"
    page.get_by_label("Lowest confidence that is sent.", exact=True).fill(limit)
    if scripts:
        expect(page.locator("#effects")).to_contain_text(f"Lowest confidence, {limit} %")
        without_json(page)
    page.get_by_role("button", name="Review the changes").click()
    if scripts:
        without_json(page)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("main")).to_contain_text("Saved as version")

    page.get_by_role("navigation", name="Account").get_by_role("link", name="Knowledge").click()
    expect(page.get_by_label("Or paste a text")).to_be_visible()
    if scripts:
        without_json(page)
    page.get_by_label("Title").fill(f"About {word}")
    page.get_by_label("Or paste a text").fill(f"We sell a {word} on weekdays.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("main")).to_contain_text(f"About {word}")


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
    """The line is selected in its box, so that a person need not count lines."""
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
