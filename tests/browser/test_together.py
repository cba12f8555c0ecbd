"""Several people in a browser: at the same decisions, authors, conversations and appeals."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.addresses import appeal_link, take_appeals
from tests.support.browser.axe import faults
from tests.support.browser.desk import PHONE, Desk, picture
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


def test_an_author_appeals_on_a_phone_and_a_reviewer_restores(desk: Desk) -> None:
    """The author needs no session and no script; axe finds nothing before and after."""
    take_appeals(desk)
    author = desk.stranger(java_script_enabled=False, viewport=PHONE)
    author.goto(f"/appeal/{appeal_link(desk)}")
    author.get_by_label("Why should it be decided otherwise?").fill("It was a joke among friends.")
    author.get_by_role("button", name="Send the appeal").click()
    expect(author.get_by_role("status")).to_contain_text("We have your appeal")
    picture(author, "appeal-author")

    page = desk.sit("everything")
    page.goto("/appeals")
    picture(page, "appeals-list")
    page.get_by_role("link", name="It was a joke").click()
    expect(page.get_by_role("heading", name="The decision as it was made")).to_be_visible()
    picture(page, "appeal-open")
    found = faults(page)
    page.get_by_role("radio", name="was wrong").check()
    page.get_by_label("Reasons for the author").fill("We read it as a joke, too.")
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_label("What was wrong only")).to_be_focused()
    page.get_by_label("What was wrong only").select_option("MODERATION_TOO_STRICT")
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    picture(page, "appeal-decided")

    assert found + faults(page) == []
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Decide")).to_be_visible()
