"""Reviewing in a browser: by keyboard alone, two at once, in queues, with keys that keep out of the way."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, expect

from tests.support.browser.axe import faults
from tests.support.browser.desk import Desk, picture
from tests.support.browser.world import SHOP

REVIEWER = "second reviewer"


def at_decision(page: Page, desk: Desk, reason: str) -> str:
    """Open a decision that ended for a reason; its id."""
    decision_id = desk.world.endings[reason]
    page.goto(f"/decisions/{decision_id}")
    return decision_id


def test_a_ruling_can_be_undone_though_the_computers_clock_is_fast(desk: Desk) -> None:
    """The rest of the time is that of the server's clock."""
    page = desk.sit(REVIEWER)
    page.clock.set_system_time(datetime.now(UTC) + timedelta(minutes=10))
    at_decision(page, desk, "MODERATION_FLAGGED")
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    expect(page.locator("[data-undo] [data-left]")).to_contain_text(re.compile(r"\ds\)"))  # of the script
    action = page.locator("[data-undo]").get_attribute("action")
    page.keyboard.press("u")
    expect(page.locator(f'[data-undo][action="{action}"]')).to_have_count(0)  # that of another test may be


def test_a_block_is_overturned_and_restored_by_keyboard_alone(desk: Desk) -> None:
    """And taken back with one key, while the page says how long that is possible."""
    page, engine = desk.resident(REVIEWER), desk.world.running
    query = "SELECT user_id, message_text FROM ai_decisions WHERE id = %s"
    like = engine.row(query, desk.world.endings["FLAGGED_RULE"])
    assert like is not None
    decision_id = engine.decide(like["user_id"], like["message_text"])["id"]  # which no other test reviews
    page.goto(f"/decisions/{decision_id}")
    page.keyboard.press("2")
    page.keyboard.press("n")
    page.keyboard.type("they ask about 1 2 3 j k s u spam")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("b")
    picture(page, "review-filled")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("You can undo it until")).to_be_visible()
    stored = desk.world.running.row(
        "SELECT ruling, note, effect FROM decision_reviews WHERE decision_id = %s ORDER BY id DESC LIMIT 1",
        decision_id,
    )
    inside = desk.world.running.row("SELECT 1 AS one FROM messages WHERE decision_id = %s", decision_id)
    wrong = faults(page)
    picture(page, "review-stored")
    page.keyboard.press("u")
    expect(page.get_by_text("The exchange was sealed again")).to_be_visible()
    after = desk.world.running.row("SELECT 1 AS one FROM messages WHERE decision_id = %s", decision_id)

    assert stored == {
        "ruling": "overturn",
        "note": "they ask about 1 2 3 j k s u spam",
        "effect": "restored",
    }
    assert inside == {"one": 1}
    assert after is None
    assert wrong == []


def test_what_a_ruling_offers_is_seen_before_it_is_given(desk: Desk) -> None:
    """Choosing to restore a blocked exchange, or to remove a reply, says the ruling too."""
    page, implied = desk.resident(REVIEWER), {}
    for reason, remedy in (("MODERATION_FLAGGED", "restore"), ("REPLIED", "remove")):
        page.goto(f"/decisions/{desk.world.endings[reason]}?again=1")  # other tests may have reviewed it
        choice = page.get_by_role("radio", name=re.compile(f"^{remedy}"))
        expect(choice).to_be_visible()
        choice.check()
        expect(choice).to_be_checked()
        implied[reason] = page.locator("input[value=overturn]").is_checked()

    assert implied == {"MODERATION_FLAGGED": True, "REPLIED": True}


def test_a_bulk_review_changes_its_mind(desk: Desk) -> None:
    """Restoring goes with overturning only; a reason is asked for whatever the ruling."""
    page = desk.resident("lead")
    page.goto(f"/decisions?account={SHOP}")
    page.get_by_role("link", name="Review all of these").click()
    restore = page.locator("input[name=remedy]")
    page.get_by_role("radio", name="Overturn").check()
    restore.check()
    page.get_by_role("radio", name="Agree").check()
    expect(restore).to_be_hidden()

    assert not restore.is_checked()
    assert page.locator("select[name=reason]").evaluate("field => field.required")


def test_a_queue_is_worked_through(desk: Desk) -> None:
    """From the list of queues to a decision and on to the next, holder and time shown."""
    page = desk.sit(REVIEWER)
    page.goto("/queues")
    picture(page, "queues")
    wrong = faults(page)
    page.get_by_role("button", name="Next in Handoffs to check").click()
    expect(page.get_by_text("From the queue Handoffs to check")).to_be_visible()
    first = page.url
    watching = desk.sit("lead")
    watching.goto(first)
    expect(watching.get_by_text(re.compile("Rolf is reading this decision"))).to_be_visible()
    page.keyboard.press("s")
    page.wait_for_url(lambda url: url != first and "item=" in url)
    second = page.url
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != second)
    expect(page.get_by_text("You can undo it until").first).to_be_visible()

    assert wrong == []


def test_keys_move_in_a_list_and_open_what_is_marked(desk: Desk) -> None:
    """Ignored while somebody types; the help says them all, and switches them off."""
    page = desk.sit(REVIEWER)
    page.goto(f"/decisions?account={SHOP}&since=7d")
    page.keyboard.press("/")
    page.keyboard.type("jj")
    expect(page.locator("[data-row][aria-current=true]")).to_have_count(0)
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.evaluate("document.activeElement.blur()")
    for key in "jjk":
        page.keyboard.press(key)
    marked = page.locator("[data-row][aria-current=true]")
    expect(marked).to_have_count(1)
    expect(page.locator("[data-row]").first).to_have_attribute("aria-current", "true")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Switch them off permanently")
    picture(page, "keys-help")
    wrong = faults(page)
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    page.wait_for_url("**/decisions/*")
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.wait_for_url("**/queues")
    page.locator(".user-button").click()
    page.get_by_role("button", name="Shortcuts").click()
    with page.expect_response("**/profile/keys"):
        page.get_by_label("Enable shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator(".user-button").click()
    page.get_by_role("button", name="Shortcuts").click()
    with page.expect_response("**/profile/keys"):
        page.get_by_label("Enable shortcuts").check()

    assert wrong == []


def test_a_note_survives_a_closed_tab_and_not_its_own_storing(desk: Desk) -> None:
    """It is kept in this browser, for this person, until it is stored."""
    page = desk.sit(REVIEWER)
    at_decision(page, desk, "TOOL_LOOP")
    page.locator("#note").fill("half a thought")
    page.goto("/queues")
    at_decision(page, desk, "TOOL_LOOP")
    expect(page.locator("#note")).to_have_value("half a thought")
    page.get_by_role("radio", name="Agree").check()
    page.get_by_role("button", name="Store review").click()
    expect(page.get_by_text("You can undo it until").first).to_be_visible()
    at_decision(page, desk, "TOOL_LOOP")
    page.get_by_role("link", name="Review it again").click()
    expect(page.locator("#note")).to_have_value("")
