"""The list of decisions in a browser: how much is seen, its tools, followed live, kept, taken home."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from playwright.sync_api import Locator, Page, expect

from cli.stack import Stack
from db.people.records import Person, Role
from tests.conftest import create_database
from tests.integration.test_cli import MANY
from tests.support.browser.axe import faults
from tests.support.browser.desk import Desk, Scheme, export, picture, sign_in
from tests.support.browser.serving import serving
from tests.support.browser.world import CHANNEL, HOSTILE, SHOP
from tests.support.reviewing import add_person


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


def test_a_day_is_picked_beside_the_field_of_time(desk: Desk) -> None:
    """The picker writes the field, which takes ages too; the list begins then."""
    page = desk.resident("viewer")
    page.goto("/decisions")
    page.locator("summary", has_text="Filters").click()
    field = page.locator("[name=since]")
    page.locator(".one-field", has=field).get_by_label("Choose a time, UTC").fill("2026-01-05T08:30")
    expect(field).to_have_value("2026-01-05T08:30")
    page.get_by_role("button", name="Filter", exact=True).click()
    page.wait_for_url("**/decisions?*")

    assert page.url.endswith("/decisions?since=2026-01-05T08%3A30")
    expect(page.get_by_label("Filters in use")).to_contain_text("From: 2026-01-05T08:30")


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


FULLY_VISIBLE = """() => [...document.querySelectorAll('#rows [data-row]')].filter((row) => {
  const box = row.getBoundingClientRect();
  const bar = document.querySelector('.nav')?.getBoundingClientRect();
  const end = bar && bar.top > innerHeight / 2 ? bar.top : innerHeight;
  return box.top >= 0 && box.bottom <= end;
}).length"""


def opened(desk: Desk, width: int, height: int, scheme: Scheme = "light") -> Page:
    """The list of all decisions in a window of this size."""
    page = desk.resident("lead", viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto("/decisions?since=all")
    return page


@pytest.mark.parametrize(
    ("width", "height", "least", "scheme"),
    [(1440, 900, 18, "light"), (1200, 800, 12, "dark"), (390, 844, 5, "dark")],
)
def test_many_rows_are_seen_without_scrolling(
    desk: Desk, width: int, height: int, least: int, scheme: Scheme
) -> None:
    """As many as a reviewer can compare at a glance, and nothing wider than the window."""
    page = opened(desk, width, height, scheme)
    picture(page, f"list-{width}-{scheme}")

    assert page.evaluate(FULLY_VISIBLE) >= least
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page) == []


def test_decisions_are_read_beside_the_list(desk: Desk) -> None:
    """J moves, the pane shows the decision, and the address stays that of the list."""
    page = opened(desk, 1440, 900)
    page.keyboard.press("p")
    pane = page.locator("#preview")
    expect(pane.locator("h1")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    wanted = page.locator("[data-row][aria-current=true] [data-open]").get_attribute("href")
    assert wanted is not None
    decision_id = urlsplit(wanted).path.rpartition("/")[2]
    expect(pane.locator(f'a[href$="/{decision_id}/similar"]')).to_be_attached()
    picture(page, "list-preview")

    assert page.url.endswith("/decisions?since=all")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("p")
    expect(pane).to_be_hidden()
    page.keyboard.press("o")
    page.wait_for_url(f"**{wanted.partition('?')[0]}*")


def test_a_preview_that_failed_is_loaded_again(desk: Desk) -> None:
    """Opening the pane again asks again, for the same decision."""
    page = opened(desk, 1440, 900)
    wanted = page.locator("[data-row] [data-open]").first.get_attribute("href")
    assert wanted is not None
    path, pane = wanted.partition("?")[0], page.locator("#preview")
    desk.expect(503)
    page.route(f"**{path}*", lambda route: route.fulfill(status=503), times=1)
    with page.expect_response(f"**{path}*"):
        page.keyboard.press("p")
    expect(pane).to_be_empty()
    page.keyboard.press("p")
    page.keyboard.press("p")

    expect(pane.locator("h1")).to_be_visible()


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


ROWS = 4_500
"""Three pieces."""


@pytest.fixture(scope="module")
def large(
    stack: Stack, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Person, str]]:
    """The address of pages over a large audit, a lead, and the database."""
    database_url = create_database(stack.database_url, "hushgate_large", template)
    with psycopg.connect(database_url) as connection:
        connection.execute(MANY, {"first": 0, "last": ROWS})
    with ThreadPoolExecutor(1) as other:  # this thread's event loop is the browser's
        person = other.submit(add_person, database_url, Role.LEAD).result()
    with serving(database_url, stack.redis_url, tmp_path_factory.mktemp("large") / "log") as origin:
        yield origin, person, database_url


def link_to_export(desk: Desk, origin: str, person: Person) -> Locator:
    """The link to a new export of everything."""
    page = desk.stranger(base_url=origin)
    desk.watches.clear()  # these pages are not the desk's: it watches for what leaves its own origin
    sign_in(page, person)
    return export(page, "/decisions?since=all")


def test_chromium_saves_every_row_of_an_export(
    room: Desk, large: tuple[str, Person, str], tmp_path: Path
) -> None:
    """As many rows as the page says that the file holds, each once."""
    origin, person, _ = large
    link, saved = link_to_export(room, origin, person), tmp_path / "decisions.csv"
    expect(link.page.locator("#job")).to_contain_text(re.compile(r"has 4\D500 decisions"))
    with link.page.expect_download() as download:
        link.click()
    download.value.save_as(saved)
    with saved.open(encoding="utf-8", newline="") as file:
        found = [row["event_id"] for row in csv.DictReader(file)]

    assert found == [str(number) for number in range(ROWS)]


def test_chromium_says_that_a_download_failed_when_the_file_is_cut(
    room: Desk, large: tuple[str, Person, str]
) -> None:
    """A piece that is missing is no short file."""
    origin, person, database_url = large
    link = link_to_export(room, origin, person)
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM job_parts WHERE number = 3")
    with link.page.expect_download() as download:
        link.click()

    assert download.value.failure() is not None
