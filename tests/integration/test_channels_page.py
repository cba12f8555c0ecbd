"""The page Channels: a token with programs that use it, and the first message as it arrives."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from selectolax.lexbor import LexborHTMLParser

from db.people.records import Role
from review.connect.channels_page import publishing
from review.services.first_run import EventPlace, FirstRunServices
from tests.support.review_world import World
from tests.support.reviewing import person_at, site_with

ACCOUNT = 'it\'s "a" shop; $(rm -rf /) <b>'
POLLED = "hx-trigger"


class Events:
    """Says that the server has a stream; the page itself neither publishes nor looks there."""

    def publish(self, event: object) -> str:
        """The page that calls this fails its test."""
        raise AssertionError(event)

    def place(self, entry_id: str, user_id: str, conversation_id: str) -> EventPlace:
        """The page that calls this fails its test."""
        raise AssertionError(entry_id)


def test_a_token_is_made_and_the_first_message_shows(url: str) -> None:
    """The token may publish and nothing else; the page looks until a message was decided."""
    with (
        World(url, "shop"),
        site_with(FirstRunServices(events=Events()), url) as visitors,
    ):
        admin, _ = person_at(visitors, url, Role.ACCOUNT_ADMIN)
        before = admin.get("/accounts/shop/channels").text
        made = admin.post("/accounts/shop/channels")
        token = re.findall(r"hg_[\w-]{40,}", made.text)
        since = int(datetime.now(UTC).timestamp()) - 600
        waiting = POLLED in admin.get("/accounts/shop/channels").text
        arrived = admin.get(f"/accounts/shop/channels?since={since}").text
        buttons = LexborHTMLParser(made.text).css("button[data-copy][hidden]")
        before_buttons = [each.prev.text() for each in buttons if each.prev is not None]
        shown = [each.text() for each in LexborHTMLParser(made.text).css("pre")]

    assert POLLED in before
    assert len(set(token)) == 1
    assert all(token[0] in each for each in shown)
    assert len(shown) == 3
    assert before_buttons == [token[0], *shown], "a script shows them"
    assert waiting
    assert "It was decided:" in arrived
    assert re.findall(r"(?:examples|docs)/\w+", before) == [], "an installed package has no such folder"
    assert POLLED not in arrived


@pytest.mark.parametrize("language", ["curl", "Python", "Node"])
def test_a_program_holds_any_account_as_text(language: str) -> None:
    """The name of an account is no part of the program."""
    text = publishing("https://h.example/", "hg_x", ACCOUNT, datetime.now(UTC))[language]
    if language == "curl":
        words = shlex.split(text.replace("\\\n", " "))
        event = json.loads(words[words.index("-d") + 1])
    elif language == "Python":
        compile(text, "snippet", "exec")
        body = re.search(r"\n    (.*)\.encode\(\)", text)
        assert body is not None
        shown = subprocess.run(  # our own text
            [sys.executable, "-c", f"print({body[1]})"], capture_output=True, text=True, check=True
        )
        event = json.loads(shown.stdout)
    else:
        event = json.loads(text.partition("JSON.stringify(")[2].partition("),\n}")[0])

    assert event["user_id"] == ACCOUNT
    assert "https://h.example/api/v1/events" in text
