"""The list of decisions: followed live, kept as a view, taken home as a file."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser.axe import faults
from tests.support.browser.desk import Desk, export, picture
from tests.support.browser.world import CHANNEL, HOSTILE, SHOP


def test_a_followed_list_shows_what_is_decided_meanwhile(desk: Desk) -> None:
    """Without a reload."""
    page = desk.resident("viewer")
    page.goto(f"/decisions?account={SHOP}")
    page.get_by_role("link", name="Follow live").click()
    page.evaluate("window.notReloaded = true")
    desk.world.running.publish(SHOP, "Is the oak table still in stock today?")

    expect(page.locator("#rows")).to_contain_text("still in stock today")
    assert page.evaluate("window.notReloaded") is True


def test_an_address_carries_no_empty_filters(desk: Desk) -> None:
    """What is left empty is not sent, so that the address can be read."""
    page = desk.resident("viewer")
    page.goto("/decisions")
    page.locator("summary", has_text="Filters").click()
    page.get_by_role("textbox", name="Account").fill(SHOP)
    page.get_by_role("button", name="Filter", exact=True).click()
    page.wait_for_url("**/decisions?*")

    assert page.url.endswith(f"/decisions?account={SHOP}")


def test_a_view_is_kept_on_the_server_and_found_again(desk: Desk) -> None:
    """Its filters come back in another browser."""
    page = desk.sit("lead")
    page.goto(f"/decisions?account={SHOP}&decision=escalate")
    page.locator("summary", has_text="Save view").click()
    page.get_by_label("Save these filters as").fill("Shop, escalated")
    page.get_by_role("button", name="Save", exact=True).click()
    elsewhere = desk.sit("lead")
    elsewhere.goto("/decisions")
    elsewhere.get_by_role("link", name="Shop, escalated").click()

    expect(elsewhere.locator(".views [aria-current]")).to_have_text("Shop, escalated")
    expect(elsewhere.get_by_label("Filters in use")).to_contain_text(f"Account: {SHOP}")
    expect(elsewhere.get_by_label("Filters in use")).to_contain_text("Decision: Handed to a person")


def test_an_export_runs_beside_and_holds_no_formula(desk: Desk, tmp_path: Path) -> None:
    """A cell that begins with = is text in every spreadsheet."""
    page = desk.resident("everything")
    link, saved = export(page, "/decisions"), tmp_path / "decisions.csv"
    with page.expect_download() as download:
        link.click()
    download.value.save_as(saved)
    with saved.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    formula = next(text for text in HOSTILE if text.startswith("="))

    assert f"'{formula}" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]


def test_many_are_reviewed_after_their_count_was_shown(desk: Desk) -> None:
    """The count, one ruling with a reason, its effect on some, then a job that can be undone as a whole."""
    page = desk.resident("lead")
    page.goto(f"/decisions?account={CHANNEL}&reason=FLAGGED_RULE&rule=flagged_phrase%3Amy+channel")
    page.get_by_role("link", name="Review all of these").click()
    count = page.locator("#count").inner_text()
    page.get_by_role("radio", name="Agree").check()
    page.get_by_label("Reason").select_option("OTHER")
    page.get_by_role("button", name="Show the effect").click()
    expect(page.locator("#preview [data-row]")).to_have_count(min(int(count), 20))
    picture(page, "bulk-preview")
    assert faults(page) == []
    page.get_by_role("button", name=f"Review {count} decision").click()
    expect(page.locator("#job")).to_contain_text("done")
    job = page.url
    page.goto(
        f"/decisions?account={CHANNEL}&reason=FLAGGED_RULE&rule=flagged_phrase%3Amy+channel&review=agree"
    )

    assert int(count) > 1
    expect(page.locator("#rows")).to_contain_text("agree")
    page.goto(job)
    page.get_by_role("button", name=f"Undo {count} review").click()
    expect(page.locator("#job")).to_contain_text("Reviews withdrawn")
    expect(page.locator("#job")).to_contain_text("done")
    assert faults(page) == []


@pytest.mark.parametrize("path", ["/dashboard", "/queues", "/"])
def test_the_search_key_leads_to_the_search_where_a_page_has_none(desk: Desk, path: str) -> None:
    """The field for texts in the list of decisions is open and has the focus."""
    page = desk.resident("second reviewer")
    page.goto(path)
    page.keyboard.press("/")
    page.wait_for_url("**/decisions#search")

    expect(page.locator("[data-search]")).to_be_focused()


@pytest.mark.parametrize("decision", ["ignore", "respond", "escalate"])
def test_a_decision_has_one_colour_in_the_list_and_on_its_page(desk: Desk, decision: str) -> None:
    """Its badge looks the same in both places."""
    page = desk.resident("viewer")
    colours = []
    page.goto(f"/decisions?since=all&decision={decision}")
    row = page.locator("[data-row]").first
    colours.append(row.locator(".badge").first.get_attribute("class"))
    row.locator("[data-open]").click()
    page.wait_for_url("**/decisions/*")
    colours.append(page.locator(".why .badge").first.get_attribute("class"))

    assert colours[0] == colours[1]


def test_a_degraded_decision_has_one_colour_in_the_list_and_on_its_page(desk: Desk) -> None:
    """The badge that says so looks the same in both places."""
    page = desk.resident("viewer")
    page.goto("/decisions?since=all&degraded=yes")
    row = page.locator("[data-row]").first
    listed = row.locator(".badge", has_text="degraded").get_attribute("class")
    row.locator("[data-open]").click()
    shown = page.locator(".why .badge", has_text="degraded").get_attribute("class")

    assert listed == shown
