"""The list of decisions: followed live, kept as a view, taken home as a file."""

from __future__ import annotations

import csv
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.desk import Desk, export
from tests.browser.world import CHANNEL, HOSTILE, SHOP


def test_a_followed_list_shows_what_is_decided_meanwhile(desk: Desk) -> None:
    """Without a reload."""
    page = desk.sit("viewer")
    page.goto(f"/decisions?account={SHOP}")
    page.get_by_role("link", name="Follow live").click()
    page.evaluate("window.notReloaded = true")
    desk.world.running.publish(SHOP, "Is the oak table still in stock today?")

    expect(page.locator("#rows")).to_contain_text("still in stock today")
    assert page.evaluate("window.notReloaded") is True


def test_an_address_carries_no_empty_filters(desk: Desk) -> None:
    """What is left empty is not sent, so that the address can be read."""
    page = desk.sit("viewer")
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
    page.locator("summary", has_text="Views").click()
    page.get_by_label("Keep these filters as").fill("Shop, escalated")
    page.get_by_role("button", name="Keep", exact=True).click()
    elsewhere = desk.sit("lead")
    elsewhere.goto("/decisions")
    elsewhere.locator("summary", has_text="Views").click()
    elsewhere.get_by_role("link", name="Shop, escalated").click()

    expect(elsewhere.get_by_label("Filters in use")).to_contain_text(f"Account: {SHOP}")
    expect(elsewhere.get_by_label("Filters in use")).to_contain_text("Decision: Handed to a person")


def test_an_export_runs_beside_and_holds_no_formula(desk: Desk, tmp_path: Path) -> None:
    """A cell that begins with = is text in every spreadsheet."""
    page = desk.sit("everything")
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
    """The count first, then one verdict with a reason, then a job that says how far it is."""
    page = desk.sit("lead")
    page.goto(f"/decisions?account={CHANNEL}&reason=FLAGGED_RULE&rule=flagged_phrase%3Amy+channel")
    page.get_by_role("link", name="Review all of these").click()
    count = page.locator("#count").inner_text()
    page.get_by_role("radio", name="Agree").check()
    page.get_by_label("Reason").select_option("OTHER")
    page.get_by_role("button", name=f"Review {count} decision").click()
    expect(page.locator("#job")).to_contain_text("done")
    page.goto(
        f"/decisions?account={CHANNEL}&reason=FLAGGED_RULE&rule=flagged_phrase%3Amy+channel&review=agree"
    )

    assert int(count) > 1
    expect(page.locator("#rows")).to_contain_text("agree")
