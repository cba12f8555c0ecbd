"""What the team sees in Slack, within Slack's limits, and what a press says."""

from __future__ import annotations

from typing import Any, Final

import pytest

from examples.channels.recipe import Json, PayloadError
from examples.channels.slack_desk import answer_of
from examples.channels.slack_forms import DRAFT_BLOCKS, answered, closed, form, presses, waiting
from tests.unit.channels.recorded import payload
from tests.unit.channels.test_events import places, spoiled

ID: Final = "019ab000-0000-7000-8000-000000000001"
LINK: Final = f"https://hushgate.example/decisions/{ID}"
DECISION: Final = {
    "id": ID,
    "reason": "No passage <supports> it.",
    "reason_code": "LOW_CONFIDENCE_ESCALATED",
    "author_id": "U0ANN",
    "message_text": "When are you open?",
}
PRESS: Final = {
    "user": "U0LEE",
    "decision": ID,
    "draft": "17",
    "action": "approve",
    "at": "1795262500.000100",
}


def drafts(*texts: str, **more: Any) -> Json:
    """The drafts of a decision, numbered from 17."""
    held = [{"id": number, "text": text} for number, text in enumerate(texts, 17)]
    return {"drafts": held, "answers": [], "covered": [], **more}


@pytest.mark.parametrize(
    ("draft", "names"),
    [
        ("From nine to six.", ["approve", "edit", "reject", "take", "open"]),
        ("x" * 3000, ["approve", "edit", "reject", "take", "open"]),
        ("x" * 3001, ["approve", "reject", "take", "open"]),
        ("x" * 2900 * DRAFT_BLOCKS, ["approve", "reject", "take", "open"]),
        ("x" * (2900 * DRAFT_BLOCKS + 1), ["reject", "take", "open"]),
        ("", ["edit", "reject", "take", "open"]),
    ],
    ids=["short", "form_full", "form_over", "shown_full", "shown_over", "none"],
)
def test_only_what_is_shown_whole_can_be_approved(draft: str, names: list[str]) -> None:
    """Slack takes 3,000 characters in a section or form; a longer draft is read in Hushgate."""
    found = waiting(DECISION, drafts(draft) if draft else drafts(), LINK)
    *sections, buttons = found["blocks"]
    texts = [each["text"]["text"] for each in sections]

    assert [each["action_id"].removeprefix("hushgate_") for each in buttons["elements"]] == names
    assert max(map(len, texts)) <= 3000
    assert len(found["blocks"]) <= 50
    assert "&lt;supports&gt;" in texts[0]
    assert "approve" not in names or draft in "".join(texts)


def test_a_press_names_the_draft_that_was_shown() -> None:
    """Approved is what stood above the button, also when another draft was added meanwhile."""
    (press,) = presses(payload("slack", "button_pressed"))
    (sent,) = presses(payload("slack", "form_sent"))
    body = answer_of(press, drafts("first", "second"))

    assert press == PRESS | {"trigger": payload("slack", "button_pressed")["trigger_id"]}
    assert presses(payload("slack", "link_pressed")) == []
    assert presses(payload("slack", "message")) == []
    assert (body["action"], body["draft"]) == ("approve", 17)
    assert answer_of(press, drafts()) == body, "the same answer when it is repeated"
    assert answer_of(sent, drafts())["text"] == "Until seven today."
    assert form(press | {"draft": "18"}, drafts("first", "second"))["private_metadata"] == f"{ID}/18"


def test_an_answer_that_was_taken_back_can_be_given_again() -> None:
    """The newest answer of others is the one that was seen; a repeated press has not seen its own."""
    body = answer_of(PRESS, drafts("first", answers=[{"id": "a"}, {"id": "b"}]))
    own = answer_of(PRESS, drafts("first", answers=[{"id": "a"}, {"id": body["answer_id"]}]))

    assert (body["seen"], own["seen"]) == ("b", "a")


def test_the_end_says_who_did_what() -> None:
    """Names of people are escaped; an answer that is gone says so."""
    line, text = answered([{"person": "<!here>", "outcome": "edited", "text": "At seven."}])
    body = closed(line, LINK, text)

    assert body["blocks"][0]["text"]["text"] == f"&lt;!here&gt; edited the draft. <{LINK}|Open>"
    assert body["blocks"][1]["text"] == {"type": "plain_text", "text": "At seven.", "emoji": False}
    assert answered([]) == ("No answer is needed any more.", "")


@pytest.mark.parametrize("name", ["button_pressed", "form_sent"])
def test_a_hostile_press_is_refused_by_name_or_read(name: str) -> None:
    """Any field may be null, of another type or strange; no event comes of it."""
    body = payload("slack", name)
    for path in places(body):
        for value in (None, True, 10**30, "", "\x00\ud800", [], [None], {}, {"a": 1}):
            changed = spoiled(body, path, value)
            try:
                found = presses(changed)
            except PayloadError:
                continue
            assert all(isinstance(text, str) for each in found for text in each.values())
