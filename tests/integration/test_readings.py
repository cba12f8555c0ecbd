"""A judge's reading, from the engine's decision to the page, the reply stream and the JSON API."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from db.people.records import Role
from sandbox.server import SandboxHandle
from tasks.sending.entry_types import REPLY
from tests.integration.test_decision_page import headline, read, visited
from tests.support.running import Running, eventually, running

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "Is the shop open on weekdays, please?"
"""It has a word that the passage lacks, so the sandbox's copied answer is not verbatim evidence."""
SENTENCE = "We are open from nine to six on weekdays."


def decided(engine: Running, **settings: Any) -> dict[str, Any]:
    """A decision on a draft that a judge read."""
    user_id = engine.account(documents=HOURS, **settings)
    row = engine.decide(user_id, QUESTION)
    assert row["snapshot_json"]["assessment"]["sentences"], row["reason"]
    return row


def test_the_page_links_each_sentence_to_its_quote_and_back(engine: Running) -> None:
    """The quote stands marked in the passage, and both links have a target."""
    page = visited(engine.url, row := decided(engine))
    targets, links = (
        set(re.findall(r'id="([\w-]+)"', page)),
        re.findall(r'href="#((?:quote|sentence)-[\w-]+)"', page),
    )

    assert row["reason_code"] == "REPLIED"
    assert SENTENCE in html.unescape(page)
    assert {"quote-1-1", "sentence-1"} <= set(links) <= targets


def test_a_reply_publishes_its_sentences_with_their_quotes(engine: Running) -> None:
    """The stream's entry fits its schema and has the words of the passage."""
    row = decided(engine)
    engine.runtime.nudge()
    entry = eventually(lambda: engine.reply(row["user_id"], row["event_id"]), "the reply")

    Draft202012Validator(REPLY.schema()).validate(entry)
    assert [each["text"] for each in entry["sentences"]] == [SENTENCE]
    assert entry["sentences"][0]["quotes"][0]["text"] in SENTENCE
    assert entry["sentences"][0]["quotes"][0]["passage_id"] == entry["sources"][0]["passage_id"]


def test_who_may_not_read_a_held_draft_sees_verdicts_without_its_text(engine: Running) -> None:
    """A reviewer sees the sentences, a viewer the verdicts alone."""
    engine.sandbox.add_rule("judge", "score", value="0.1")
    row = decided(engine)
    viewer, reviewer = (read(visited(engine.url, row, role)) for role in (Role.VIEWER, Role.REVIEWER))

    assert "What the judge read" in viewer
    assert "these are the verdicts alone" in viewer
    assert "these are the verdicts alone" not in reviewer


def test_a_cover_hides_the_sentences_and_not_the_verdicts(engine: Running) -> None:
    """Nothing of the draft or the passages is in the page until it is revealed."""
    user_id = engine.account(documents=HOURS, moderation_thresholds={"violence": 1.0})
    row = engine.decide(user_id, "I will kill you, is the shop open on weekdays?")
    revealed = visited(engine.url, row)
    covered = visited(engine.url, row, covered=("violence",))

    assert SENTENCE in html.unescape(revealed)
    assert "The texts are covered" in read(covered)
    assert "What the judge read" in read(covered)
    assert SENTENCE not in html.unescape(covered)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ({"fault": "500"}, "the judge did not answer"),
        ({"fault": "ungrounded"}, "the judge's answer could not be read"),
    ],
)
def test_a_draft_without_a_reading_waits_and_its_page_says_why(
    engine: Running, fault: dict[str, Any], why: str
) -> None:
    """The draft can be approved on its page, and nothing was handed to people."""
    engine.sandbox.add_rule("judge", **fault)
    user_id = engine.account(documents=HOURS)
    row = engine.decide(user_id, QUESTION)
    page = visited(engine.url, row)

    assert (row["reason_code"], row["decision"]) == ("HELD_UNREAD", "ignore")
    assert why in headline(page)
    assert "Approve and send" in page
    assert engine.row("SELECT 1 FROM escalations WHERE user_id = %s", user_id) is None


def test_a_switched_off_judge_is_named(database_url: str, redis_url: str, sandbox: SandboxHandle) -> None:
    """The draft waits, and no judge was called."""
    with running(database_url, redis_url, sandbox, HUSHGATE_JUDGE="off") as engine:
        row = engine.decide(engine.account(documents=HOURS), QUESTION)
        page = visited(engine.url, row)

    assert row["reason_code"] == "HELD_UNREAD"
    assert "the judge is switched off" in headline(page)
    assert "HUSHGATE_JUDGE" in read(page)
