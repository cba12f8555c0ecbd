"""Texts that somebody else wrote: covered where a person wants it, and never more than text."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.browser.desk import Desk
from tests.support.browser.world import HOSTILE

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
