"""A backtest in a browser: from the page Learn to its examples side by side, in both schemes, on a phone."""

from __future__ import annotations

import re
from typing import Final

from playwright.sync_api import expect

from tests.support.browser.addresses import shop_backtest
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
