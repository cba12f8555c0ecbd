"""The tools of the list of decisions: ticks, suggestions, columns and order, the next of the list."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.browser.axe import faults
from tests.support.browser.desk import Desk, picture
from tests.support.browser.world import CHANNEL, SHOP


def test_rows_are_ticked_by_keyboard_and_reviewed_together(desk: Desk) -> None:
    """X ticks, Shift with J ticks on; the bulk page counts exactly these, and works without a filter."""
    page = desk.resident("lead", viewport={"width": 1440, "height": 900})
    page.goto("/decisions?since=all")
    button = page.get_by_role("button", name="Review the ticked ones")
    expect(button).to_be_disabled()
    for key in ("j", "x", "Shift+J", "Shift+J", "Shift+K", "j", "j", "x"):
        page.keyboard.press(key)
    expect(page.locator("[data-tick]:checked")).to_have_count(4)
    picture(page, "list-ticked")
    assert faults(page) == []
    page.keyboard.press("x")
    page.get_by_role("checkbox", name="Tick all decisions of this page").click()
    expect(page.locator("[data-tick]:checked")).to_have_count(50)
    page.get_by_role("checkbox", name="Tick all decisions of this page").click()
    page.locator("[data-tick]").nth(1).check()
    page.locator("[data-tick]").nth(3).check()
    button.click()

    expect(page.locator("#count")).to_have_text("2")


def test_the_search_suggests_filters(desk: Desk) -> None:
    """What is typed finds accounts and reasons; the arrow keys move, Enter filters, Escape closes."""
    page = desk.sit("lead", viewport={"width": 1200, "height": 800}, color_scheme="dark")
    page.goto("/decisions?since=all")
    page.keyboard.press("/")
    page.keyboard.type(CHANNEL[:5])
    links = page.locator("#search-suggestions a")
    expect(links.first).to_contain_text(CHANNEL)
    picture(page, "list-suggestions")
    assert faults(page) == []
    page.keyboard.press("Escape")
    expect(links).to_have_count(0)
    page.keyboard.type(CHANNEL[:5])
    expect(links.first).to_contain_text(CHANNEL)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/decisions?since=all&account={CHANNEL}")

    expect(page.get_by_label("Filters in use")).to_contain_text(f"Account: {CHANNEL}")


LATE = "const soon = setTimeout; window.setTimeout = (run, ms = 0, ...more) => soon(run, ms + 800, ...more);"
"""Timers of a busy machine: htmx starts in one."""


def test_what_is_typed_before_the_scripts_are_ready_finds_filters_too(desk: Desk) -> None:
    """On a slow machine people type before htmx listens."""
    page = desk.sit("lead", viewport={"width": 1200, "height": 800})
    page.add_init_script(LATE)
    page.goto("/decisions?since=all")
    page.locator("[data-search]").first.press_sequentially(CHANNEL[:5])

    expect(page.locator("#search-suggestions a").first).to_contain_text(CHANNEL)


def test_columns_and_order_are_kept_for_the_person(desk: Desk) -> None:
    """They are the same in another browser; the head of the column turns the order."""
    page = desk.sit("second reviewer")
    page.goto(f"/decisions?since=all&account={SHOP}")
    newest = page.locator("[data-open]").first.get_attribute("href")
    page.locator("summary", has_text="Columns").click()
    page.get_by_role("checkbox", name="Author").check()
    page.get_by_role("checkbox", name="Confidence").uncheck()
    page.get_by_role("radio", name="Oldest first").check()
    assert faults(page) == []
    page.get_by_role("button", name="Save", exact=True).last.click()
    elsewhere = desk.sit("second reviewer")
    elsewhere.goto(f"/decisions?since=all&account={SHOP}")
    heads = elsewhere.locator("#rows thead")
    expect(heads).to_contain_text("Author")
    expect(heads).not_to_contain_text("Confidence")
    assert elsewhere.locator("[data-open]").first.get_attribute("href") != newest
    elsewhere.get_by_role("button", name="Time").click()

    expect(elsewhere.locator("[data-open]").first).to_have_attribute("href", newest or "")
    expect(heads).to_contain_text("Author")


def test_a_review_from_the_list_opens_the_next_of_the_list(desk: Desk) -> None:
    """As in a queue; the undo of the review waits there."""
    page = desk.resident("lead")
    page.goto(f"/decisions?since=all&account={CHANNEL}&review=open")
    second = page.locator("[data-open]").nth(1).get_attribute("href") or ""
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/decisions/*from=*")
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(f"**{second.partition('?')[0]}?*")

    expect(page.locator("#undo")).to_be_visible()
    page.keyboard.press("u")
    page.wait_for_url("**#review")
