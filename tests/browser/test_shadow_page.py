"""Shadows on the page Learn in a browser: started, read and followed to their decisions by everybody."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest
from playwright.sync_api import expect
from psycopg.types.json import Jsonb
from uuid_utils.compat import uuid7

from tests.support.browser.axe import faults, show_theme
from tests.support.browser.desk import PHONE, Desk, picture

SHOP = "corner-shop"


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
