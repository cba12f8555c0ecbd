"""The review form and the decision page in a browser: few keys, everything in view, at every size."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.support.browser.axe import faults
from tests.support.browser.desk import Desk, Scheme, picture
from tests.support.browser.reviewer import Reviewer, queue_of
from tests.support.browser.world import SHOP

WIDE: Final[ViewportSize] = {"width": 1440, "height": 900}
LAPTOP: Final[ViewportSize] = {"width": 1200, "height": 800}
SMALL: Final[ViewportSize] = {"width": 390, "height": 844}
CITING: Final = """
    SELECT d.id FROM ai_decisions d JOIN outbox o ON o.decision_id = d.id
    WHERE d.reason_code = 'REPLIED' AND o.draft LIKE '%%[1]%%' AND d.user_id = %s
    ORDER BY d.created_at LIMIT 1
"""
PICKED: Final = """
    SELECT DISTINCT ON (reason_code) id, created_at FROM ai_decisions
    WHERE reason_code = ANY(%s) ORDER BY reason_code, created_at
"""
RULED: Final = """
    SELECT DISTINCT ON (decision_id) ruling, reason_code <> '' AS reason,
        corrected_decision IS NOT NULL AS corrected
    FROM decision_reviews WHERE decision_id = ANY(%s) AND person = 'rolf'
    ORDER BY decision_id, created_at DESC
"""
MIXED: Final = [
    "REPLIED",
    "FLAGGED_RULE",
    "NO_EVIDENCE",
    "MODEL_ESCALATED",
    "LLM_ERROR",
    "REPLY_FLAGGED_RULE",
]


def citing(desk: Desk) -> str:
    """The address of a decision whose reply cites a passage."""
    row = desk.world.running.row(CITING, SHOP)
    assert row is not None
    return f"/decisions/{row['id']}"


def inside(page: Page, selector: str) -> bool:
    """Whether all of an element is within the window."""
    box, size = page.locator(selector).first.bounding_box(), page.viewport_size
    assert box is not None, selector
    assert size is not None
    return (
        box["x"] >= 0
        and box["y"] >= 0
        and box["x"] + box["width"] <= size["width"]
        and box["y"] + box["height"] <= size["height"]
    )


def test_a_queue_costs_two_keys_to_agree_and_three_to_overturn_with_a_reason(desk: Desk) -> None:
    """Item after item, of every kind; the overturn is stored with its reason and the right decision."""
    rows = desk.world.running.rows(PICKED, MIXED)
    queue_of(desk.world.url, "By keyboard", {row["id"]: row["created_at"] for row in rows})
    page = desk.resident("second reviewer", viewport=WIDE)
    page.goto("/queues")
    page.get_by_role("button", name="Next in By keyboard").click()
    page.wait_for_url("**/decisions/*")
    reviewer = Reviewer(page=page)
    reviewer.work(len(rows))
    stored = desk.world.running.rows(
        RULED,
        [each.decision_id for each in reviewer.ruled],
    )
    overturned = [row for row in stored if row["ruling"] == "overturn"]

    assert len({each.decision_id for each in reviewer.ruled}) == len(rows) == len(MIXED)
    assert {each.keys for each in reviewer.ruled if each.ruling == "agree"} == {2}
    assert {each.keys for each in reviewer.ruled if each.ruling == "overturn"} == {3}
    assert len(overturned) == 2
    assert all(row["reason"] and row["corrected"] for row in overturned)


def test_message_reply_cited_sentence_and_form_are_seen_together(desk: Desk) -> None:
    """On a screen of 1440 by 900, without scrolling."""
    page = desk.resident("everything", viewport=WIDE)
    page.goto(citing(desk))
    picture(page, "decision-together")
    parts = ("#message", ".quote.reply", "mark.cited", ".measure-bar", ".rulings", ".review-actions button")

    assert {part: inside(page, part) for part in parts} == dict.fromkeys(parts, True)


@pytest.mark.parametrize(("size", "scheme"), [(LAPTOP, "light"), (SMALL, "dark")], ids=["laptop", "phone"])
def test_the_page_has_no_faults_at_other_sizes(desk: Desk, size: ViewportSize, scheme: Scheme) -> None:
    """Nothing is wider than the window; open folds and the chosen overturn are accessible too."""
    page = desk.resident("everything", viewport=size, color_scheme=scheme)
    page.goto(citing(desk) + "#review")
    page.locator("input[value=overturn]").first.check()
    page.locator("input[name=reason]").first.check()
    found = faults(page)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    found += faults(page)
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    picture(page, f"decision-{size['width']}-{scheme}")

    assert found == []
    assert not wide


@pytest.mark.parametrize("scripts", [True, False])
def test_the_form_on_a_phone_opens_from_a_bar_that_is_always_in_view(desk: Desk, scripts: bool) -> None:
    """With and without JavaScript; it closes again, and nothing has to be scrolled."""
    page = desk.resident("everything", viewport=SMALL, java_script_enabled=scripts)
    page.goto(citing(desk))
    seen = inside(page, ".review-bar a")
    page.locator(".review-bar a").click()
    opened = inside(page, ".rulings") and inside(page, ".review-actions button")
    page.locator(".sheet-close").click()
    expect(page.locator(".rulings")).not_to_be_in_viewport()

    assert (seen, opened) == (True, True)


def test_a_reason_proposes_the_right_decision_until_the_person_chooses(desk: Desk) -> None:
    """A key of a reason is an overturn; a choice of the person stays with another reason."""
    page = desk.resident("second reviewer", viewport=WIDE)
    page.goto(f"/decisions/{desk.world.endings['MODERATION_FLAGGED']}")
    corrected = page.locator("input[name=corrected]:checked")
    page.keyboard.press("h")
    expect(page.locator("input[name=ruling]:checked")).to_have_value("overturn")
    expect(corrected).to_have_value("respond")
    page.keyboard.press("5")
    page.keyboard.press("b")
    expect(corrected).to_have_value("escalate")
    page.keyboard.press("v")
    expect(page.locator("input[name=remedy]:checked")).to_have_value("restore")
    page.keyboard.press("1")
    expect(page.locator("#review-form .choices [name=reason]").first).to_be_hidden()
    expect(page.locator("input[name=remedy]:checked")).to_have_value("none")


def test_an_item_of_a_queue_stays_in_its_place_while_keys_choose(desk: Desk) -> None:
    """The window does not scroll, hints that no longer say anything go, and the queues are the way back."""
    block = desk.world.running.rows(PICKED, ["FLAGGED_RULE"])
    queue_of(desk.world.url, "In place", {row["id"]: row["created_at"] for row in block})
    page = desk.resident("second reviewer", viewport={"width": 1200, "height": 620})
    page.goto("/queues")
    page.get_by_role("button", name="Next in In place").click()
    page.wait_for_url("**/decisions/*")
    expect(page.locator(".list-position").get_by_role("link", name="All queues")).to_be_visible()
    expect(page.locator(".nav a[aria-current=page]").first).to_have_attribute("href", "/queues")
    before = page.evaluate("scrollY")
    for key in "2x5":
        page.keyboard.press(key)
    expect(page.locator("input[name=corrected]:checked")).to_have_value("escalate")
    expect(page.locator("#review-form .until-ruled").first).to_be_hidden()

    assert page.evaluate("scrollY") == before
    assert page.locator("#note").get_attribute("required") is not None
    page.keyboard.press("1")
    expect(page.locator("#remedies")).to_be_hidden()
    assert page.locator("#note").get_attribute("required") is None
