"""The page of a decision in a browser: covers, keys, hostile texts, answers."""

from __future__ import annotations

import psycopg
import pytest
from playwright.sync_api import expect

from tests.support.browser.axe import THEMES, faults, show_theme
from tests.support.browser.desk import Desk, picture
from tests.support.browser.world import HOSTILE

ENDINGS = (
    "MODERATION_FLAGGED",
    "REPLY_FLAGGED_RULE",
    "FALLBACK_SENT",
    "LLM_ERROR",
    "NO_EVIDENCE",
    "HELD_UNREAD",
    "PARTIAL_REPLY",
)


@pytest.fixture
def careful(desk: Desk) -> Desk:
    """The desk, where Carl wants violence covered."""
    with psycopg.connect(desk.world.url, autocommit=True) as connection:
        connection.execute(
            "UPDATE people SET covered = '{violence}' WHERE id = %s",
            (desk.world.people["covered"].person_id,),
        )
    return desk


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_kind_of_decision_can_be_read_by_everybody(desk: Desk, ending: str) -> None:
    """Marks, bars, tables and the panel, in light and in dark."""
    page, found = desk.resident("everything"), {}
    page.goto(f"/decisions/{desk.world.endings[ending]}")
    for theme, rules in THEMES.items():
        show_theme(page, theme)
        picture(page, f"decision-{ending.lower()}-{theme}")
        found[theme] = faults(page, *rules)

    assert found == {"light": [], "dark": []}


def test_a_cover_is_lifted_by_a_key_and_nothing_typed_is_lost(careful: Desk) -> None:
    """The texts take the cover's place; a note that was begun stands where it stood."""
    page = careful.sit("covered")
    page.goto(f"/decisions/{careful.world.endings['MODERATION_FLAGGED']}")
    page.locator("#note").fill("looks like a joke")
    page.locator("h1").click()
    covered = page.content()
    picture(page, "decision-covered")
    found = faults(page)
    page.keyboard.press("r")
    expect(page.get_by_text("I will kill you")).to_be_visible()

    assert "kill" not in covered
    assert found == []
    assert page.locator("#note").input_value() == "looks like a joke"
    assert page.evaluate("document.activeElement.id") == "content"


def test_a_list_is_walked_by_keys(desk: Desk) -> None:
    """From one decision to the older one and back, the list's filters along."""
    page = desk.resident("everything")
    page.goto("/decisions?account=corner-shop")
    page.locator("[data-open]").first.click()
    expect(page.locator("[data-next]")).to_be_visible()
    page.wait_for_load_state()
    first = page.url
    page.keyboard.press("j")
    expect(page.locator("[data-prev]")).to_be_visible()
    page.wait_for_load_state()
    second = page.url
    page.keyboard.press("k")
    expect(page).to_have_url(first)

    assert second != first
    assert "from=account%3Dcorner-shop" in second


def test_a_sentence_and_its_quote_lead_to_each_other_by_keyboard(desk: Desk) -> None:
    """A link with the focus shows its target, there and back."""
    page = desk.resident("everything")
    page.goto(f"/decisions/{desk.world.endings['PARTIAL_REPLY']}")
    page.locator('#reading ~ ol a[href="#quote-1-1"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator("mark#quote-1-1:target")).to_be_in_viewport()
    picture(page, "decision-quote")
    page.locator('.to-sentence[href="#sentence-1"]').first.focus()
    page.keyboard.press("Enter")

    expect(page.locator("#sentence-1:target")).to_be_in_viewport()


def test_a_reading_is_complete_without_javascript(desk: Desk) -> None:
    """Its links are the page's own, and their targets are there."""
    page = desk.resident("everything", java_script_enabled=False)
    page.goto(f"/decisions/{desk.world.endings['PARTIAL_REPLY']}")
    page.locator('a[href="#quote-1-1"]').click()

    expect(page.locator("mark#quote-1-1:target")).to_be_in_viewport()


AS_READ = {len(HOSTILE) - 1: "W" * 400}
"""By place: a text whose letters are read in another order than they are written is stored as it is read."""


def test_a_covered_text_is_not_in_the_page_until_a_key_reveals_it(desk: Desk) -> None:
    """Neither as text nor in an attribute; then it is there and the cover is gone."""
    page = desk.sit("covered")
    page.goto(f"/decisions/{desk.world.endings['MODERATION_FLAGGED']}")
    before = page.content()
    page.keyboard.press("r")
    expect(page.get_by_text("I will kill you when you are open").first).to_be_visible()

    assert "kill you" not in before
    expect(page.locator(".cover")).to_have_count(0)


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_a_hostile_text_stays_a_text(desk: Desk, place: int) -> None:
    """In the list, at the decision, in the account's documents; nothing of it runs or loads."""
    page = desk.resident("everything")
    row = desk.world.running.row("SELECT user_id FROM ai_decisions WHERE id = %s", desk.world.hostile[place])
    assert row is not None
    account = row["user_id"]
    for path in (
        f"/accounts/{account}/documents",
        f"/decisions?account={account}",
        f"/decisions/{desk.world.hostile[place]}",
    ):
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()

        assert "owned" not in page.title()
        assert page.locator("iframe, [onload], [onerror], main svg[onload], main script").count() == 0
    expect(page.locator(".quote").first).to_contain_text(AS_READ.get(place, HOSTILE[place])[:20])


REVIEWER = "second reviewer"


def test_a_draft_is_approved_with_two_keys(desk: Desk) -> None:
    """From the list of what waits; the page then shows the answer instead of the form."""
    page, decision_id = desk.resident(REVIEWER), desk.world.endings["HELD_FOR_APPROVAL"]
    page.goto("/escalations")
    wrong = faults(page)
    picture(page, "escalations")
    page.locator(f"a[href='/escalations/{decision_id}']").click()
    expect(page.locator("[data-approve] kbd")).to_have_text(["a", "Enter"])
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
    """`e` begins an answer; a refusal has the focus, so that it is read, and leaves the text where it was."""
    page = desk.resident(REVIEWER)
    page.goto(f"/decisions/{desk.world.endings['MODEL_ESCALATED']}")
    page.keyboard.press("e")
    page.keyboard.type("a kind answer: I will kill you")
    desk.expect(400)
    page.locator("#answer").get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Not sent. Moderation stops this text")
    expect(page.get_by_role("alert")).to_be_focused()
    expect(page.locator("#own-answer")).to_have_value("a kind answer: I will kill you")
    page.locator("#own-answer").fill("a kind answer")
    page.locator("#answer").get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#content")).to_contain_text("Answered by rolf")
    expect(page.locator("#content .thread")).to_contain_text("a kind answer")
