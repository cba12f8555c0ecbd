"""The page Learn in a browser: backtests, golden sets, rollouts, shadows, by keyboard and on a phone."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

import psycopg
import pytest
from playwright.sync_api import expect
from psycopg.types.json import Jsonb
from uuid_utils.compat import uuid7

from tests.support.browser.addresses import shop_backtest, shop_candidate, shop_golden_set
from tests.support.browser.axe import faults, show_theme
from tests.support.browser.desk import PHONE, Desk, picture
from tests.support.browser.world import SHOP

EVERYBODY: Final = "everything"
BESIDE: Final = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
TOPS: Final = "found => found.map(each => Math.round(each.getBoundingClientRect().top))"


def test_examples_are_side_by_side(desk: Desk) -> None:
    """Then and now stand beside each other, on a phone below each other; nothing is wider than the screen."""
    found, backtest_id = {}, shop_backtest(desk)
    page = desk.sit(EVERYBODY, viewport={"width": 1440, "height": 900})
    page.goto(f"/accounts/{SHOP}/learn")
    page.locator(f"a[href$='/learn/trials/{backtest_id}']").click()
    expect(page.get_by_role("heading", name="Backtest", exact=True)).to_be_visible()
    first = page.locator(".backtest-example").first
    expect(first).to_contain_text("With the change")
    sides = first.locator(".backtest-sides > div")
    wide = sides.evaluate_all(TOPS)
    for scheme in ("light", "dark"):
        show_theme(page, scheme)
        found[scheme] = faults(page)
        picture(page, f"backtest-{scheme}")
    show_theme(page, "light")
    page.set_viewport_size(PHONE)
    narrow, beside = sides.evaluate_all(TOPS), page.evaluate(BESIDE)
    found["phone"] = faults(page)
    picture(page, "backtest-phone")
    first.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/decisions/[0-9a-f-]{36}$"))

    assert found == {"light": [], "dark": [], "phone": []}
    assert wide[0] == wide[1]
    assert narrow[0] < narrow[1]
    assert beside <= 0
    assert desk.faults() == []


def test_a_covered_example_is_shown_by_keyboard(desk: Desk) -> None:
    """Its button puts the texts in the place of the cover."""
    backtest_id = shop_backtest(desk)
    cover = "UPDATE people SET covered = %s WHERE id = %s"
    person_id = desk.world.people[EVERYBODY].person_id
    desk.world.running.database.execute(cover, (["flagged_rule"], person_id))
    page = desk.sit(EVERYBODY)
    page.goto(f"/accounts/{SHOP}/learn/trials/{backtest_id}")
    first = page.locator(".backtest-example").first
    expect(first).to_contain_text("Covered:")
    covered = page.locator(".backtest-sides").count()
    first.get_by_role("button", name="Show").focus()
    page.keyboard.press("Enter")
    expect(first.locator(".backtest-sides")).to_contain_text("With the change")
    desk.world.running.database.execute(cover, ([], person_id))

    assert covered == 0
    assert faults(page) == []
    assert desk.faults() == []


def test_a_lead_makes_a_set_and_adds_a_decision(desk: Desk) -> None:
    """By keyboard from the form on; the decision's page offers the set, and the item can be removed."""
    query = "SELECT id FROM ai_decisions WHERE user_id = %s AND reason_code = 'REPLIED' LIMIT 1"
    decision = (desk.world.running.row(query, SHOP) or {})["id"]
    page = desk.sit(EVERYBODY)
    page.goto(f"/accounts/{SHOP}/learn")
    page.locator("summary", has_text="Create a golden set").press("Enter")
    page.get_by_label("Name of the set").fill("Opening hours")
    page.keyboard.press("Tab")
    page.keyboard.type("Questions that may be answered")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Opening hours")).to_be_visible()
    expect(page.get_by_text("No items yet")).to_be_visible()
    empty = faults(page)
    page.goto(f"/decisions/{decision}")
    page.get_by_text("For leads").click()
    form = page.locator("form").filter(has=page.get_by_label("Add to golden set"))
    form.get_by_label("Add to golden set").select_option("Opening hours")
    form.get_by_label("Label").select_option("May be answered")
    form.get_by_role("button", name="Add").click()
    expect(page.get_by_role("status")).to_contain_text("The items are in the set.")
    expect(page.get_by_text("1 item ·")).to_be_visible()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("status")).to_contain_text("The item is removed.")

    assert empty == []


def test_a_set_with_results_is_readable(desk: Desk) -> None:
    """In both schemes and on a phone; its page and the page Learn have no faults of accessibility."""
    found, set_id = {}, shop_golden_set(desk)
    page = desk.sit(EVERYBODY)
    page.goto(f"/accounts/{SHOP}/learn")
    found["learn"] = faults(page)
    page.goto(f"/accounts/{SHOP}/learn/golden/{set_id}")
    expect(page.get_by_role("cell", name="a model")).to_be_visible()
    found["light"] = faults(page)
    picture(page, "golden-set")
    show_theme(page, "dark")
    found["dark"] = faults(page)
    picture(page, "golden-set-dark")
    show_theme(page, "light")
    page.set_viewport_size(PHONE)
    beside = page.evaluate(BESIDE)
    picture(page, "golden-set-phone")

    assert found == {"learn": [], "light": [], "dark": []}
    assert beside <= 0


def test_a_lead_starts_a_rollout_and_returns_it(desk: Desk) -> None:
    """Preset, reason, result, return: each page is readable in both schemes, and fits a phone."""
    found = {}
    shop_candidate(desk)
    page = desk.sit(EVERYBODY)
    page.goto(f"/accounts/{SHOP}/learn")
    found["learn"] = faults(page)
    picture(page, "learn-candidates")
    page.get_by_role("link", name="Start a rollout").first.click()
    page.get_by_role("link", name="Careful").click()
    expect(page.get_by_label("Share of the conversations, percent")).to_have_value("5")
    found["form"] = faults(page)
    picture(page, "rollout-start")
    page.get_by_label("Reason", exact=True).fill("Casino advertisements were answered.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("The rollout has started.")
    expect(page.get_by_role("heading", name="Result: Overturned by reviewers")).to_be_visible()
    found["light"] = faults(page)
    picture(page, "rollout-running")
    show_theme(page, "dark")
    found["dark"] = faults(page)
    picture(page, "rollout-running-dark")
    show_theme(page, "light")
    page.set_viewport_size(PHONE)
    beside = page.evaluate(BESIDE)
    picture(page, "rollout-running-phone")
    last = page.locator("form").filter(has=page.get_by_role("button", name="Return", exact=True))
    last.get_by_label("Reason").fill("Only a test.")
    last.get_by_role("button", name="Return", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("decide every conversation again")
    expect(page.get_by_text("Next step")).to_have_count(0)

    assert found == {"learn": [], "form": [], "light": [], "dark": []}
    assert beside <= 0


@pytest.fixture
def shadowed(desk: Desk) -> str:
    """A decision of the shop that a shadow would have stopped; its id."""
    decision, now, candidate = desk.world.decision(SHOP, "REPLIED"), datetime.now(UTC), uuid7()
    about = {"account": SHOP, "candidate": candidate, "shadow": uuid7(), "decision": decision, "now": now}
    about |= {
        "changes": Jsonb({"flagged_keywords": ["casino"]}),
        "counts": Jsonb({"newly_stopped": 1, "unchanged": 1204, "needs_answers": 12, "dropped": 3}),
        "id": uuid7(),
    }
    with psycopg.connect(desk.world.url, autocommit=True) as connection:
        for statement in (
            "INSERT INTO candidates (id, user_id, base_version, changes, note, source, created_by)"
            " VALUES (%(candidate)s, %(account)s, 1, %(changes)s, 'from overturns', 'person', 'ada')",
            "INSERT INTO trials (id, user_id, kind, candidate_id, base_version, changes, reached_id, done,"
            " counts) VALUES (%(shadow)s, %(account)s, 'shadow', %(candidate)s, 1, %(changes)s,"
            " %(decision)s, 1220, %(counts)s)",
            "INSERT INTO trial_steps (trial_id, kind, made_by, reason)"
            " VALUES (%(shadow)s, 'start', 'ada', 'good in the backtest')",
            "INSERT INTO shadow_results (id, shadow_id, decision_id, candidate_id, user_id, conversation_id,"
            " author_id, decision_at, kind, before_code, decision, reason_code, reason, matched_rule)"
            " SELECT %(id)s, %(shadow)s, id, %(candidate)s, user_id, conversation_id, author_id, created_at,"
            " 'newly_stopped', reason_code, 'ignore', 'FLAGGED_RULE', 'The message contains a flagged word.',"
            " 'flagged_keyword:casino' FROM ai_decisions WHERE id = %(decision)s",
        ):
            connection.execute(statement, about)
    return decision


def test_a_shadow_is_read_followed_and_stopped(desk: Desk, shadowed: str) -> None:
    """From its counts to the decision and what the candidate would have done; then it is stopped."""
    found = {}
    page = desk.sit("everything", viewport={"width": 1440, "height": 900})
    for scheme in ("light", "dark"):
        show_theme(page, scheme)
        page.goto(f"/accounts/{SHOP}/learn?kind=shadow")
        page.get_by_role("link", name="Shadow,").first.click()
        found[scheme] = faults(page)
        picture(page, f"shadow-{scheme}")
    page.set_viewport_size(PHONE)
    picture(page, "shadow-phone")
    wide = page.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth")
    page.set_viewport_size({"width": 1200, "height": 800})
    show_theme(page, "light")
    page.get_by_role("link", name="Newly stopped", exact=True).click()
    page.locator(f"a[href*='{shadowed}']").first.click()
    section = page.locator("#shadows")
    expect(section).to_contain_text("The message contains a flagged word.")
    found["decision"] = faults(page)
    picture(page, "shadow-decision")
    section.get_by_role("link", name="The shadow").click()
    page.get_by_label("Why stop it").fill("seen enough")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".rollout-table")).to_contain_text("seen enough")
    picture(page, "shadow-stopped")

    assert found == {"light": [], "dark": [], "decision": []}
    assert wide <= 0
    assert desk.faults() == []
