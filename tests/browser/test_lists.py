"""The list of decisions: followed live, kept as a view, taken home as a file."""

from __future__ import annotations

import csv
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.desk import Desk
from tests.browser.world import HOSTILE, SHOP


def test_a_followed_list_shows_what_is_decided_meanwhile(desk: Desk) -> None:
    """Without a reload."""
    page = desk.sit("viewer")
    page.goto(f"/decisions?account={SHOP}")
    page.get_by_role("link", name="Follow live").click()
    page.evaluate("window.notReloaded = true")
    desk.world.running.publish(SHOP, "Is the oak table still in stock today?")

    expect(page.locator("#rows")).to_contain_text("still in stock today")
    assert page.evaluate("window.notReloaded") is True


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
    expect(elsewhere.get_by_label("Filters in use")).to_contain_text("Decision: escalate")


def test_an_export_runs_beside_and_holds_no_formula(desk: Desk, tmp_path: Path) -> None:
    """A cell that begins with = is text in every spreadsheet."""
    page = desk.sit("everything")
    saved = _export(page, "/decisions", tmp_path)
    with saved.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    formula = next(text for text in HOSTILE if text.startswith("="))

    assert f"'{formula}" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]


def _export(page: Page, path: str, folder: Path) -> Path:
    page.goto(path)
    page.locator("summary", has_text="Export").click()
    page.get_by_role("button", name="Export what matches").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    saved = folder / "decisions.csv"
    download.value.save_as(saved)
    return saved
