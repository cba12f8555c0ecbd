"""Answering in a browser: a draft is approved with two keys, an answer is written."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.browser.axe import faults
from tests.support.browser.desk import Desk, picture

REVIEWER = "second reviewer"


def test_a_draft_is_approved_with_two_keys(desk: Desk) -> None:
    """From the list of what waits; the page then shows the answer instead of the form."""
    page, decision_id = desk.resident(REVIEWER), desk.world.endings["HELD_FOR_APPROVAL"]
    page.goto("/escalations")
    wrong = faults(page)
    picture(page, "escalations")
    page.locator(f"a[href='/escalations/{decision_id}']").click()
    expect(page.locator("[data-approve]")).to_be_visible()
    wrong += faults(page)
    page.keyboard.press("a")
    expect(page.locator("[data-approve]")).to_be_focused()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.goto(f"/decisions/{decision_id}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("rolf approved the text of the AI")
    expect(page.locator("#content")).to_contain_text("Approved by rolf")
    expect(page.locator("[data-approve]")).to_have_count(0)
    picture(page, "answer-approved")
    stored = desk.world.running.rows(
        "SELECT outcome, person FROM answers WHERE decision_id = %s", decision_id
    )

    assert stored == [{"outcome": "unchanged", "person": "rolf"}]
    assert wrong == []


def test_keys_of_an_answer_are_letters_while_a_person_writes(desk: Desk) -> None:
    """`e` begins an answer; a rule's refusal leaves the text where it was."""
    page = desk.resident(REVIEWER)
    page.goto(f"/decisions/{desk.world.endings['MODEL_ESCALATED']}")
    page.keyboard.press("e")
    page.keyboard.type("a kind answer: I will kill you")
    desk.expect(400)
    page.locator("#answer").get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Not sent. text: moderation stops it")
    expect(page.locator("#own-answer")).to_have_value("a kind answer: I will kill you")
    page.locator("#own-answer").fill("a kind answer")
    page.locator("#answer").get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#content")).to_contain_text("Answered by rolf")
    expect(page.locator("#content .thread")).to_contain_text("a kind answer")
