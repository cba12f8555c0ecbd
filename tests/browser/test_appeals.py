"""An appeal as its author and its reviewer see it, on a phone without scripts and at a desk."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.browser.addresses import appeal_link, take_appeals
from tests.support.browser.axe import faults
from tests.support.browser.desk import PHONE, Desk, picture


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
