"""Several people at the same decisions, and people who may not be there."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.support.browser.desk import Desk
from tests.support.browser.world import CHANNEL, SHOP
from tests.support.reviewing import PASSWORD


def _review(page: Page, ruling: str, note: str) -> None:
    page.get_by_role("radio", name=ruling).check()
    page.locator("#note").fill(note)
    page.get_by_role("button", name="Store").click()


def test_the_slower_of_two_sees_both_versions_and_keeps_the_note(desk: Desk) -> None:
    """Nothing is overwritten unseen; sending again stores it beside the other."""
    path = f"/decisions/{desk.world.decision(CHANNEL, 'NO_ANSWER')}"
    faster, slower = desk.sit("reviewer"), desk.sit("second reviewer")
    desk.expect(409)
    faster.goto(path)
    slower.goto(path)
    _review(faster, "Agree", "Nothing in the documents.")
    expect(faster.locator("[data-undo]")).to_contain_text("Stored: agree")
    _review(slower, "Unsure", "I would have asked back.")

    expect(slower.get_by_text("Nothing in the documents.").first).to_be_visible()
    expect(slower.locator("#note")).to_have_value("I would have asked back.")

    slower.get_by_role("button", name="Store").click()
    expect(slower.locator("[data-undo]")).to_contain_text("Stored: unsure")


def test_a_viewer_reads_and_can_do_no_more(desk: Desk) -> None:
    """There is no form to fill in, and an address typed by hand is refused in plain words."""
    page = desk.sit("viewer")
    desk.expect(403)
    page.goto(f"/decisions/{desk.world.decision(SHOP, 'REPLIED')}")
    expect(page.locator("#review-form")).to_have_count(0)
    page.goto("/queues")

    expect(page.get_by_role("heading", level=1)).to_have_text("Not allowed")


def test_a_note_survives_a_session_that_ended_while_it_was_written(desk: Desk) -> None:
    """Sign in again, look at it, send it."""
    page, login = desk.stranger(), desk.world.people["lead"].login
    desk.expect(401)
    page.goto(f"/sign-in?next=/decisions/{desk.world.decision(CHANNEL, 'REPLIED')}")
    _enter(page, login)
    page.get_by_role("radio", name="Agree").check()
    page.locator("#note").fill("Written for twenty minutes.")
    desk.world.running.database.execute(
        "DELETE FROM sessions WHERE person_id = %s", (desk.world.people["lead"].person_id,)
    )
    page.get_by_role("button", name="Store").click()
    _enter(page, login)
    expect(page.get_by_label("Note")).to_have_value("Written for twenty minutes.")
    page.get_by_role("button", name="Send").click()

    expect(page.locator("[data-undo]")).to_contain_text("Stored: agree")
    expect(page.locator("[data-reviews]")).to_contain_text("Written for twenty minutes.")


def _enter(page: Page, login: str) -> None:
    page.get_by_label("Login").fill(login)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_a_claim_shows_its_holder_to_others(desk: Desk) -> None:
    """In the list of queues and on the decision itself."""
    holder, other = desk.sit("reviewer"), desk.sit("second reviewer")
    holder.goto("/queues")
    holder.get_by_role("button", name="Next in Handoffs to check").click()
    expect(holder.locator("#held")).to_contain_text("From the queue Handoffs to check")
    other.goto("/queues")
    login = desk.world.people["reviewer"].login
    expect(other.get_by_role("row", name="Handoffs to check")).to_contain_text(login, ignore_case=True)
    other.goto(holder.url)

    expect(other.get_by_text("is reading this decision in the queue Handoffs to check")).to_contain_text(
        login, ignore_case=True
    )
    holder.get_by_role("button", name="Release").click()
    expect(holder.locator("#held")).to_have_count(0)
