"""By keyboard: an agent clears the inbox with the question in view, a reviewer works a queue to its end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import pytest
from playwright.sync_api import Page, expect

from db.people.records import Role
from tests.support.browser.axe import faults
from tests.support.browser.desk import PHONE, Desk, picture
from tests.support.queues import hand_queue
from tests.support.reviewing import add_person

Made = TypeVar("Made")
NUMBER: Final = 20
HOURS: Final = {"Opening hours": ["We are open from nine to six on weekdays."]}
LONG: Final = " I ask because I work on weekdays and my neighbour gave me another time." * 12
IN_VIEW: Final = """() => {
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const question = box("#question"), answer = box("#own-answer");
    return question.top >= 0 && question.bottom <= innerHeight && question.height > 40
        && answer.bottom <= innerHeight && answer.top >= question.bottom;
}"""


def aside(make: Callable[[], Made]) -> Made:
    """What needs an event loop of its own: the browser's is this thread's."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make).result()


def inbox(desk: Desk, number: int, who: str) -> list[dict[str, Any]]:
    """An account of its own with so many messages that wait, and a person who answers them."""
    account = aside(lambda: desk.world.running.account(documents=HOURS, reply_mode="suggest"))
    desk.world.people[who] = aside(
        lambda: add_person(desk.world.url, Role.REVIEWER, account=account, login=who)
    )
    return [
        desk.world.running.decide(
            account,
            f"Message {place}: when are you open on weekdays?" + (LONG if place % 3 == 0 else ""),
            conversation_id=f"{who} {place}",
            author_id=f"customer {place}",
        )
        for place in range(number)
    ]


def write_answers(page: Page, number: int) -> int:
    """Answer each message with `e`, a text and Ctrl+Enter; how often the question was in view."""
    seen = 0
    for left in range(number, 0, -1):
        expect(page.get_by_text(f"{left} left")).to_be_visible()
        page.keyboard.press("e")
        expect(page.locator("#own-answer")).to_be_focused()
        page.keyboard.type(f"From nine to six, number {left}.")
        seen += page.evaluate(IN_VIEW)
        with page.expect_navigation():
            page.keyboard.press("Control+Enter")
    return seen


def test_an_agent_clears_twenty_messages_by_keyboard(desk: Desk) -> None:
    """The question is in view at each, each answer opens the next message, and the count falls to none."""
    rows = inbox(desk, NUMBER, "agent-of-twenty")
    page = desk.sit("agent-of-twenty", viewport={"width": 1200, "height": 800})
    page.goto("/")
    expect(page.locator("#count-escalations")).to_have_text(str(NUMBER))
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(page.get_by_role("heading", name="To answer")).to_be_visible()
    page.wait_for_load_state()
    wrong = faults(page)
    picture(page, "inbox")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/escalations/{rows[0]['id']}")
    wrong += faults(page)
    picture(page, "inbox-case")
    seen = write_answers(page, NUMBER)
    expect(page.get_by_text("Nothing waits for an answer")).to_be_visible()
    stored = desk.world.running.rows(
        "SELECT outcome FROM answers WHERE user_id = %s AND text LIKE 'From nine to six, number %%'",
        rows[0]["user_id"],
    )

    assert seen == NUMBER
    assert len(stored) == NUMBER
    assert wrong == []


def test_a_draft_is_approved_from_the_inbox_on_a_phone(desk: Desk) -> None:
    """The question stays in view above the form that a person fills."""
    rows = inbox(desk, 2, "agent-with-a-phone")
    page = desk.sit("agent-with-a-phone", viewport=PHONE)
    page.goto("/escalations")
    picture(page, "inbox-phone")
    wrong = faults(page)
    page.locator("[data-row] a").first.click()
    page.locator("#own-answer").scroll_into_view_if_needed()
    picture(page, "inbox-case-phone")
    wrong += faults(page)
    in_view = page.evaluate(IN_VIEW)
    page.locator("[data-approve]").click()
    page.wait_for_url(f"**/escalations/{rows[1]['id']}?**")
    expect(page.get_by_text("1 left")).to_be_visible()

    assert in_view
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_queue_ends_without_a_form_that_takes_keys(desk: Desk, scheme: str) -> None:
    """Two keys agree, three overturn, the draft in view; after the last item the same keys store nothing."""
    who = f"reader-{scheme}"
    desk.world.people[who] = aside(lambda: add_person(desk.world.url, Role.REVIEWER, login=who))
    rows = [desk.world.running.decide(account_of(desk), f"Item {place}") for place in range(2)]
    picked = {row["id"]: row["created_at"] for row in rows}
    queue = aside(lambda: hand_queue(desk.world.url, f"two items {scheme}", picked))
    page = desk.sit(who, color_scheme=scheme)
    page.goto("/queues")
    page.get_by_role("button", name=f"Next in two items {scheme}").click()
    expect(page.get_by_text("1 left")).to_be_visible()
    expect(page.get_by_role("heading", name="The draft of the AI")).to_be_in_viewport()
    picture(page, f"queue-item-{scheme}")
    press(page, "1", "Enter")
    expect(page.get_by_text("0 left")).to_be_visible()
    press(page, "2", "y", "Enter")
    page.wait_for_url(f"**/queues/{queue}/done")
    expect(page.get_by_role("heading", name="Done, 2 items today")).to_be_visible()
    wrong = faults(page)
    picture(page, f"queue-done-{scheme}")
    for key in ("1", "Enter", "2", "b", "Enter", "Control+Enter"):
        page.keyboard.press(key)
    reviews = desk.world.running.rows(
        "SELECT ruling FROM decision_reviews WHERE decision_id = ANY(%s) ORDER BY id", list(picked)
    )

    assert [each["ruling"] for each in reviews] == ["agree", "overturn"]
    assert page.url.endswith(f"/queues/{queue}/done")
    assert wrong == []


def test_a_reviewer_answers_from_the_item_of_a_queue(desk: Desk) -> None:
    """The review is stored first, then the answer box opens, and the next item follows the answer."""
    who = "reader-who-answers"
    desk.world.people[who] = aside(lambda: add_person(desk.world.url, Role.REVIEWER, login=who))
    rows = [desk.world.running.decide(account_of(desk), f"Open question {place}") for place in range(2)]
    picked = {row["id"]: row["created_at"] for row in rows}
    aside(lambda: hand_queue(desk.world.url, "two to answer", picked))
    page = desk.sit(who)
    page.goto("/queues")
    page.get_by_role("button", name="Next in two to answer").click()
    expect(page.get_by_text("1 left")).to_be_visible()
    first = page.url.split("/decisions/")[1][:36]
    press(page, "1", "e")
    page.wait_for_url(f"**/escalations/{first}?queue=*")
    wrong = faults(page)
    page.keyboard.press("e")
    page.keyboard.type("A person looks at your question today.")
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")
    expect(page.get_by_text("0 left")).to_be_visible()
    stored = desk.world.running.rows("SELECT outcome FROM answers WHERE decision_id = %s", first)
    reviews = desk.world.running.rows("SELECT ruling FROM decision_reviews WHERE decision_id = %s", first)

    assert ([each["outcome"] for each in stored], [each["ruling"] for each in reviews]) == (
        ["replaced"],
        ["agree"],
    )
    assert first not in page.url
    assert wrong == []


def press(page: Page, *keys: str) -> None:
    """These keys, the last of which sends the form."""
    page.wait_for_load_state()
    for key in keys[:-1]:
        page.keyboard.press(key)
    with page.expect_navigation():
        page.keyboard.press(keys[-1])


def account_of(desk: Desk) -> str:
    """An account whose drafts are not trusted."""
    row = desk.world.running.row(
        "SELECT user_id FROM ai_decisions WHERE id = %s", desk.world.endings["HELD_FOR_APPROVAL"]
    )
    assert row is not None
    return str(row["user_id"])
